"""Kernels run on the GPU where there is one, else through Triton's interpreter on tensors of the CPU."""

import importlib.util
import os

import pytest
import torch

from noiseproof.kernels import path

HAS_TRITON = importlib.util.find_spec("triton") is not None

if HAS_TRITON and not torch.cuda.is_available():
    before = os.environ.get("TRITON_INTERPRET")
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined
    import triton.experimental.gluon  # noqa: F401 -- the interpreter imports it at its first launch

    import noiseproof.kernels.launch  # noqa: F401

    if before is None:
        del os.environ["TRITON_INTERPRET"]


@pytest.fixture
def device(monkeypatch):
    """Where kernels run in this test."""
    if not HAS_TRITON:
        pytest.skip("Triton is not installed: the kernels cannot run, not even interpreted")
    if torch.cuda.is_available():
        return "cuda"
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(path, "interpreted", True)
    return "cpu"
