"""Cached folders: complete or absent, and never those of an older version of the source."""

import os

import numpy as np
import pytest

from noiseproof.data.numpy_files import StreamCache


def make(cache, value):
    with cache.writing() as new:
        np.save(new / "a.npy", np.full(3, value))
        cache.commit(new)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "the table.csv"
    path.write_text("one")
    return path


def test_cache_is_reused_for_the_same_options_only(source, tmp_path):
    make(StreamCache(tmp_path, source, ["a"]), 1)
    assert StreamCache(tmp_path, source, ["a"]).map("a.npy").tolist() == [1, 1, 1]
    assert StreamCache(tmp_path, source, ["b"]).map("a.npy") is None
    twin = tmp_path / "other" / source.name
    twin.parent.mkdir()
    twin.write_text("one")
    os.utime(twin, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
    assert StreamCache(tmp_path, twin, ["a"]).map("a.npy") is None


@pytest.mark.parametrize("change", ["size", "time"])
def test_changed_source_replaces_the_cached_folder(change, source, tmp_path):
    make(StreamCache(tmp_path, source, ["a"]), 1)
    make(StreamCache(tmp_path, source, ["b"]), 2)
    old = source.stat()
    source.write_text("seven" if change == "size" else "two")
    os.utime(source, ns=(old.st_atime_ns, old.st_mtime_ns + (change == "time")))
    cache = StreamCache(tmp_path, source, ["a"])
    assert cache.map("a.npy") is None
    make(cache, 3)
    assert cache.map("a.npy").tolist() == [3, 3, 3]
    assert len(list((tmp_path / "streams").iterdir())) == 2


def test_failure_leaves_no_files(source, tmp_path):
    cache = StreamCache(tmp_path, source, ["a"])
    with pytest.raises(FileExistsError), cache.writing() as new:
        (new / "a.npy").mkdir() or (new / "a.npy").mkdir()
    assert list((tmp_path / "streams").iterdir()) == []
    assert cache.map("a.npy") is None


def test_folder_of_a_killed_process_is_not_used(source, tmp_path):
    cache = StreamCache(tmp_path, source, ["a"])
    manager = cache.writing()
    new = manager.__enter__()
    np.save(new / "a.npy", np.arange(3))
    assert StreamCache(tmp_path, source, ["a"]).map("a.npy") is None
    make(cache, 5)
    assert cache.map("a.npy").tolist() == [5, 5, 5]
    manager.__exit__(None, None, None)
    assert cache.map("a.npy").tolist() == [5, 5, 5]


@pytest.mark.parametrize("cut", [0, 40, -1])
def test_damaged_file_is_rebuilt(cut, source, tmp_path):
    cache = StreamCache(tmp_path, source, ["a"])
    make(cache, 1)
    content = (cache.folder / "a.npy").read_bytes()
    (cache.folder / "a.npy").write_bytes(content[:cut])
    assert cache.map("a.npy") is None
    make(cache, 2)
    assert cache.map("a.npy").tolist() == [2, 2, 2]


def test_first_of_two_processes_creates_the_folder(source, tmp_path):
    one, two = (StreamCache(tmp_path, source, ["a"]) for _ in range(2))
    with one.writing() as slow:
        np.save(slow / "a.npy", np.zeros(3))
        make(two, 1)
        one.commit(slow)
    assert one.map("a.npy").tolist() == [1, 1, 1]
    assert len(list((tmp_path / "streams").iterdir())) == 1


def test_source_that_changes_while_read_is_refused(source, tmp_path):
    cache = StreamCache(tmp_path, source, ["a"])
    source.write_text("two and more")
    with cache.writing() as new, pytest.raises(ValueError, match=r"the table\.csv changed while it was read"):
        cache.commit(new)
    assert list((tmp_path / "streams").iterdir()) == []


@pytest.mark.parametrize("name", ["ünï code.csv", "." * 9, "a" * 200 + ".csv", "-.csv"])
def test_source_with_any_file_name(name, tmp_path):
    path = tmp_path / name
    path.write_text("x")
    cache = StreamCache(tmp_path, path, ["a"])
    make(cache, 1)
    assert cache.map("a.npy").tolist() == [1, 1, 1]
    assert cache.folder.name.isascii()
    assert len(cache.folder.name) < 100
