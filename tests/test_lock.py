"""One writer per folder; the lock of a dead process is released."""

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noiseproof import lock
from noiseproof.lock import RunLock, RunLockedError

SCRIPT = Path(__file__).with_name("lock_races.py")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="races forked processes; Windows has no fork")


def script(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("count", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_one_process_wins_every_race(tmp_path, count):
    assert script("races", tmp_path / "run", count) == ["LLLLLLLW"] * count


@pytest.mark.slow
@needs_fork
def test_lock_excludes_concurrent_updates(tmp_path):
    assert script("counting", tmp_path, 50) == {"statuses": [0] * 4, "number": 200}


@pytest.mark.slow
@needs_fork
def test_orphaned_worker_does_not_keep_the_lock(tmp_path):
    assert script("orphans", tmp_path, 1) == {"held": True, "held after the kill": False}


def test_lock_is_not_reentrant(tmp_path):
    with RunLock(tmp_path) as first:
        for second in (RunLock(tmp_path), RunLock(str(tmp_path)), first):
            with pytest.raises(RunLockedError, match="is being written by") as caught, second:
                pass
            assert f"{tmp_path} is being written by process {os.getpid()} on host " in str(caught.value)
            assert str(caught.value).endswith("UTC; wait for it or choose another --out")
    with RunLock(tmp_path):
        pass
    assert (tmp_path / "lock").read_bytes() == b""


def test_patience_waits_for_the_owner(tmp_path):
    first = RunLock(tmp_path)
    first.__enter__()
    threading.Timer(0.2, first.__exit__).start()
    with pytest.raises(RunLockedError), RunLock(tmp_path, patience=0.01):
        pass
    with RunLock(tmp_path, patience=30):
        assert first._descriptor is None


def test_other_folders_are_not_locked_and_folders_are_created(tmp_path):
    with RunLock(tmp_path / "a b" / "é"), RunLock(tmp_path):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


def test_error_releases_the_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), RunLock(tmp_path):
        _ = 1 / 0
    with RunLock(tmp_path):
        pass


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}', b"\xff" * 20_000])
def test_empty_lock_file(tmp_path, content):
    (tmp_path / "lock").write_bytes(content)
    with RunLock(tmp_path):
        (tmp_path / "lock").write_bytes(content)
        with (
            pytest.raises(RunLockedError, match="is being written by another process; wait"),
            RunLock(tmp_path),
        ):
            pass


def test_refusal_closes_the_file(tmp_path):
    with RunLock(tmp_path):
        before = os.dup(0)
        os.close(before)
        for _ in range(5):
            with pytest.raises(RunLockedError, match="wait for it"), RunLock(tmp_path):
                pass
        after = os.dup(0)
        os.close(after)
        assert before == after


def test_file_in_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "run").write_text("x")
    with (
        pytest.raises(OSError, match=r"cannot write .*run.lock: .*; a part of the path is a file"),
        RunLock(tmp_path / "run"),
    ):
        pass


@pytest.mark.skipif(os.name == "nt", reason="flock is not for Windows")
def test_file_system_without_locks_causes_a_warning(tmp_path, monkeypatch):
    def fail(number):
        def flock(descriptor, operation):
            raise OSError(number, "cannot")

        return flock

    monkeypatch.setattr(lock, "_unlock", lambda descriptor: None)
    monkeypatch.setattr(lock.fcntl, "flock", fail(errno.ENOLCK))
    with (
        pytest.warns(UserWarning, match="does not support locks: only one process may"),
        RunLock(tmp_path),
    ):
        pass
    monkeypatch.setattr(lock.fcntl, "flock", fail(errno.EIO))
    with pytest.raises(OSError, match="cannot"), RunLock(tmp_path):
        pass
