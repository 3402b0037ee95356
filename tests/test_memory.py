"""Available memory, by every kind of limit."""

import subprocess
import sys

import pytest

from noiseproof import memory

MB = 1 << 20


def test_data_above_a_quarter_of_the_memory_are_large(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 400)
    assert not memory.is_large(100)
    assert memory.is_large(101)


def test_smallest_limit_is_used(monkeypatch):
    monkeypatch.setattr(memory, "_free_of_machine", lambda: 500)
    monkeypatch.setattr(memory, "_free_of_container", lambda: None)
    monkeypatch.setattr(memory, "_free_of_limits", lambda: [700])
    assert memory.available_memory() == 500
    monkeypatch.setattr(memory, "_free_of_container", lambda: 300)
    assert memory.available_memory() == 300
    monkeypatch.setattr(memory, "_free_of_limits", lambda: [-5])
    assert memory.available_memory() == 0


def test_default_if_the_memory_is_unknown(monkeypatch):
    monkeypatch.setattr(memory, "_entries", lambda path: {})
    monkeypatch.delattr("os.sysconf")
    assert memory._free_of_machine() is None
    monkeypatch.setattr(memory, "_free_of_container", lambda: None)
    monkeypatch.setattr(memory, "_free_of_limits", list)
    assert memory.available_memory() == memory.UNKNOWN


def test_memory_limit_of_containers(tmp_path):
    (tmp_path / "memory.stat").write_text("anon 300\nfile 9000\n")
    for most, free in (("1000\n", 700), ("max\n", None)):
        (tmp_path / "memory.max").write_text(most)
        assert memory._free_of_container(tmp_path) == free
    assert memory._free_of_container(tmp_path / "none") is None


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are kept on Linux only")
def test_resource_limits_of_the_process():
    code = f"""
import mmap, resource
from noiseproof.memory import _entries, Path, available_memory
for limit, word in ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")):
    used = _entries(Path("/proc/self/status"))[word]
    resource.setrlimit(limit, (used + {64 * MB}, resource.RLIM_INFINITY))
    assert {56 * MB} < available_memory() <= {64 * MB}, (word, available_memory())
    kept = mmap.mmap(-1, {16 * MB}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    assert {40 * MB} < available_memory() <= {48 * MB}, (word, available_memory())
    kept.close()
    resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
