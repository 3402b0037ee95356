"""Tests are the same every time, whatever the machine; kernels are not imported where Triton is missing."""

import gc
import importlib.util
import re
import signal
import zlib

import pytest
from hypothesis import settings

PART = re.compile(r"([1-9]\d*)/([1-9]\d*)")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile("repeatable")

KERNELS = [
    "src/noiseproof/kernels/triton/*.py",
    "src/noiseproof/devices/convolution_kernels.py",
    "tests/kernels/compiling_for_a_gpu.py",
]
INTEGRATIONS = {"huggingface": "transformers"} | {
    name: name for name in ("cleanlab", "lightning", "mlflow", "skorch", "wandb")
}
collect_ignore_glob = [] if importlib.util.find_spec("triton") else list(KERNELS)
collect_ignore_glob += [
    f"src/noiseproof/integrations/{name}.py"
    for name, package in INTEGRATIONS.items()
    if importlib.util.find_spec(package) is None
]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # jobs in the background of a shell; tests send ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--part", default="1/1", help="i/n: only the i-th of n parts of the test files")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Disable the garbage collector during collection and exclude the collected tests from it afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Keep the files of one part; a file is always in the same one."""
    found = PART.fullmatch(config.getoption("part"))
    if found is None:
        raise pytest.UsageError(f"--part {config.getoption('part')} is not of the form i/n, such as 2/4")
    part, parts = map(int, found.groups())
    if parts > 1:
        groups: dict[bool, list[pytest.Item]] = {True: [], False: []}
        for item in items:
            groups[zlib.crc32(item.path.name.encode()) % parts == part % parts].append(item)
        config.hook.pytest_deselected(items=groups[False])
        items[:] = groups[True]
