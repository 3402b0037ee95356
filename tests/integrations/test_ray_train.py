"""The Ray Train example gives the same run as one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from noiseproof.train import Run, fit

pytest.importorskip("ray.train.torch", reason="ray[train] is not installed")
EXAMPLE = Path(__file__).parents[2] / "examples/ray_train.py"


@pytest.mark.slow
def test_two_workers_equal_one_process(tmp_path):
    command = [sys.executable, str(EXAMPLE), "--out", str(tmp_path / "two")]
    subprocess.run(command, check=True, timeout=600, env={**os.environ, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"})  # noqa: S603
    run = Run(tmp_path / "two")
    one = fit(run.config.replace(out=str(tmp_path / "one")))
    assert run.finished
    torch.testing.assert_close(run.record.margin, one.record.margin, atol=0.01, rtol=0.01)
    assert run.result["final_test_accuracy"] == pytest.approx(one.result["final_test_accuracy"], abs=0.01)
