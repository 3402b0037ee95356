"""Kernels are compiled for a GPU where there is none: the interpreter forgives what a compiler does not."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("compiling_for_a_gpu.py")
SPECS = [
    "gce",
    "gr(normalize='none')",
    'gr(normalize="batch")',
    "nce",
    "mse",
    "cr(ce)",
    "peer(nce)",
    "10*nce + 0.1*agce",
]
KERNELS = [
    "convolution_kernel",
    "convolution_weight_kernel",
    "frequencies_kernel",
    "gradient_kernel",
    "mean_kernel",
    "scale_kernel",
    "statistics_kernel",
]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton's compiler")
def test_every_kernel_compiles(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(SCRIPT), *SPECS],
        capture_output=True,
        text=True,
        check=False,
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kernels"] == KERNELS
    assert found["smallest"] > 1000
