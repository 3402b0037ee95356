"""Kernels run on the GPU where there is one, else through Triton's interpreter on tensors of the CPU.

The CPU operator is compiled once per session, unless this machine has it already.
"""

import importlib.util
import os
import pkgutil
import sys
from contextlib import contextmanager

import pytest
import torch

from noiseproof.kernels import apply
from noiseproof.kernels import build as cpu_build
from noiseproof.kernels import triton as room
from noiseproof.kernels.cpu import operator as cpu_operator

HAS_TRITON = importlib.util.find_spec("triton") is not None

if HAS_TRITON and not torch.cuda.is_available():
    before = os.environ.get("TRITON_INTERPRET")
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined
    import triton.experimental.gluon  # noqa: F401 -- the interpreter imports it at its first launch

    for module in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"noiseproof.kernels.triton.{module.name}")
    importlib.import_module("noiseproof.devices.convolution_kernels")

    if before is None:
        del os.environ["TRITON_INTERPRET"]
    room.launch.MIN_PROGRAMS = 1  # the interpreter runs programs in turn: few are faster

SLOW_FIXTURES = {"device"}
"""Triton's interpreter takes seconds for what a GPU does in microseconds."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Without a GPU these tests belong to ``make test-all``, those of the CPU operator unless it is built."""
    slow = set() if torch.cuda.is_available() else set(SLOW_FIXTURES)
    if cpu_build.problem() is not None:
        slow |= {"operator", "compiled_operator"}
    here = os.path.dirname(__file__)
    for item in items:
        mine = os.path.dirname(item.path) == here and item.get_closest_marker("quick") is None
        if mine and slow.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


@pytest.fixture
def device(monkeypatch):
    """Where kernels run in this test."""
    if not HAS_TRITON:
        pytest.skip("Triton is not installed: the kernels cannot run, not even interpreted")
    if torch.cuda.is_available():
        return "cuda"
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(apply, "interpreted", True)
    return "cpu"


@contextmanager
def built(tmp_path_factory):
    """It is in the cache meanwhile: of the processes of a session one compiles it, the others wait."""
    import fcntl

    own = tmp_path_factory.getbasetemp()
    cache = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setenv("XDG_CACHE_HOME", str(cache))
        if cpu_build.problem() is not None:
            cpu_build.build()
        yield


@pytest.fixture(scope="session")
def compiled_operator(tmp_path_factory):
    """The operator of torch, or why there is none."""
    there = cpu_operator.load()
    if there is not None:
        return there
    if sys.platform == "win32" or cpu_build.compiler() is None:
        return "NO C++ COMPILER: the CPU operator cannot be built, so nothing of it is tested"
    with built(tmp_path_factory):
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
