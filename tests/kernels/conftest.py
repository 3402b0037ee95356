"""Kernels run on the GPU where there is one, else through Triton's interpreter on tensors of the CPU.

The CPU operator is compiled once per session, unless this machine has it already.
"""

import importlib.util
import os
import pkgutil
import sys

import pytest
import torch
from stand_in_driver import StandInDriver

from noiseproof.kernels import build as cpu_build
from noiseproof.kernels import path, tracing
from noiseproof.kernels import triton as room
from noiseproof.kernels.cpu import operator as cpu_operator
from noiseproof.kernels.inplace import allowed
from noiseproof.kernels.launcher import lesson, library
from noiseproof.losses import launched

HAS_TRITON = importlib.util.find_spec("triton") is not None

if HAS_TRITON and not torch.cuda.is_available():
    before = os.environ.get("TRITON_INTERPRET")
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined
    import triton.experimental.gluon  # noqa: F401 -- the interpreter imports it at its first launch

    for module in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"noiseproof.kernels.triton.{module.name}")

    if before is None:
        del os.environ["TRITON_INTERPRET"]
    room.tile.FEWEST_PROGRAMS = 1  # the interpreter runs one after the other: few large ones are over sooner


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


@pytest.fixture(scope="session")
def compiled_operator(tmp_path_factory):
    """The operator of torch, or why there is none."""
    there = cpu_operator.load()
    if there is not None:
        return there
    if sys.platform == "win32" or cpu_build.compiler() is None:
        return "NO C++ COMPILER: the CPU operator cannot be built, so nothing of it is tested"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        cpu_build.build()
        found = cpu_operator.load()
    cpu_operator._loss = None  # other tests go their usual way
    return found


@pytest.fixture
def operator(compiled_operator, monkeypatch):
    """Losses go through the compiled CPU operator in this test."""
    if isinstance(compiled_operator, str):
        pytest.skip(compiled_operator)
    monkeypatch.setattr(cpu_operator, "_loss", compiled_operator)
    return compiled_operator


@pytest.fixture(scope="session")
def built_launcher(tmp_path_factory):
    """The launcher's operator, which launches nothing yet."""
    if sys.platform == "win32" or cpu_build.compiler() is None:
        pytest.skip("NO C++ COMPILER: the launcher cannot be built, so nothing of it is tested")
    if torch.cuda.is_available():
        pytest.skip("the stand-in is for machines without a GPU; test_launcher_cuda.py has the real thing")
    with pytest.MonkeyPatch.context() as patch:
        if cpu_build.problem(cpu_build.LAUNCHER) is not None:
            patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
            cpu_build.build(cpu_build.LAUNCHER)
        return library.opened(0)


@pytest.fixture
def driver(built_launcher, device, monkeypatch):
    """Losses are launched from C++ in this test, on a driver that interprets their kernels."""
    found = StandInDriver()
    torch.ops.noiseproof_launcher.use(found.address)
    monkeypatch.setattr(library, "_loss", built_launcher)
    monkeypatch.setattr(library, "stream_of", lambda logits: 7)
    monkeypatch.setattr(
        library,
        "takes",
        lambda logits: (
            path.interpreted and tracing.is_plain_eager() and not allowed() and not library.has_hooks()
        ),
    )
    monkeypatch.setattr(lesson, "passed", found.passed)
    monkeypatch.setattr(launched, "_numbers", {})
    return found
