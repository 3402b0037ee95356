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
    'gr(normalize="batch")',
    "nce",
    "mse",
    "nfl",
    "cr(ce)",
    "cr(gce)",
    "cr(mae + gce)",
    "cr(focal)",
    "peer(ce)",
    "peer(nce)",
    "peer(nfl)",
    "10*nce + 0.1*agce",
    "10*nce + nfl",
    "nfl + mae",
]
KERNELS = [
    "blind_again_kernel",
    "blind_gradient_kernel",
    "blind_kernel",
    "compare_kernel",
    "convolution_kernel",
    "convolution_weight_kernel",
    "count_kernel",
    "gradient_again_kernel",
    "gradient_kernel",
    "keys_kernel",
    "mean_kernel",
    "pair_gradient_kernel",
    "pair_statistics_kernel",
    "permutation_kernel",
    "powers_finish_kernel",
    "powers_gradient_kernel",
    "powers_kernel",
    "prior_gradient_kernel",
    "prior_kernel",
    "scale_kernel",
    "series_gradient_kernel",
    "series_kernel",
    "statistics_kernel",
    "zero_kernel",
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
