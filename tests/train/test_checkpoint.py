"""Checkpoints are readable after any failure, and damaged checkpoints are detected."""

import errno
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from noiseproof import atomic, files
from noiseproof.train import checkpoint

CHECKPOINTS_OF_0_1_0 = Path(__file__).parents[1] / "dynamics/runs_of_0_1_0/unfinished/checkpoints"
SCRIPT = Path(__file__).with_name("saving_until_killed.py")
NAME = "step-000000001.safetensors"


def run_script(*arguments, inside=()):
    command = [*inside, sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def save(folder, step, **state):
    checkpoint.save(folder, step=step, state={"w": torch.full((50,), float(step)), **state})


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_saved_state_is_restored(tmp_path):
    plain = {
        "lr": 0.1 + 0.2,
        "tiny": 5e-324,
        "big": 2**70,
        "nan": -math.inf,
        "name": "é\n\ud800",
        "none": None,
        "list": [True, {1: (2,)}],
    }
    tensors = {"w": torch.randn(3, 4).t(), "b": torch.tensor(2, dtype=torch.int64), "h": torch.ones(2).half()}
    checkpoint.save(tmp_path / "new" / "folder", step=12, state={**plain, "tensors": tensors})
    found = checkpoint.newest(tmp_path / "new" / "folder")
    state = found.state
    again = state.pop("tensors")
    assert (found.step, state) == (12, plain)
    assert type(state["list"][0]) is bool
    for name, tensor in tensors.items():
        assert torch.equal(again[name], tensor)
        assert again[name].dtype == tensor.dtype
    assert checkpoint.newest(tmp_path / "nothing") is None
    again["w"].add_(1)


def test_metadata_contains_versions(tmp_path):
    save(tmp_path, 1)
    content = files.read_tensors(tmp_path / NAME, 10_000)[1]
    assert (content["format"], content["step"], content["torch"]) == ("2", "1", torch.__version__)
    assert content["noiseproof"]


def test_two_newest_checkpoints_are_kept(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "step-000000002.safetensors").write_text("a save that was killed")
    for step in (1, 5, 999_999_999, 1_000_000_000):
        save(tmp_path, step)
    assert checkpoint.newest(tmp_path).step == 1_000_000_000
    steps = (1_000_000_000, 999_999_999)
    assert names(tmp_path) == ["notes.txt", *[f"step-{step}.safetensors" for step in steps]]


def test_new_checkpoint_at_an_earlier_step_is_kept(tmp_path):
    for step in (10, 20):
        save(tmp_path, step)
    for path in tmp_path.glob("*.safetensors"):
        path.write_bytes(b"broken")
    with pytest.warns(UserWarning, match=r"cannot read .*safetensors.*using the previous checkpoint"):
        assert checkpoint.newest(tmp_path) is None
    save(tmp_path, 5)
    assert checkpoint.newest(tmp_path).step == 5
    assert len(names(tmp_path)) == 1


def test_saving_a_step_twice(tmp_path, monkeypatch):
    save(tmp_path, 1, lr=0.1)
    save(tmp_path, 1, lr=0.2)
    assert checkpoint.newest(tmp_path).state["lr"] == 0.2
    assert names(tmp_path) == [NAME]

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="the old file is unchanged"):
        save(tmp_path, 1, lr=0.3)
    assert checkpoint.newest(tmp_path).state["lr"] == 0.2
    assert names(tmp_path) == [NAME]


def test_saving_over_a_damaged_step(tmp_path):
    save(tmp_path, 1)
    (tmp_path / NAME).write_bytes(b"damage")
    save(tmp_path, 1)
    assert checkpoint.newest(tmp_path).step == 1
    assert names(tmp_path) == [NAME]


def test_flipped_bits_are_detected(tmp_path):
    save(tmp_path, 0)
    save(tmp_path, 1, long=[1.5, "text", None] * 100)
    path = tmp_path / NAME
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    key = whole.index(b'"sha256"') + 2
    for place in sorted({*range(0, len(whole), 64), *range(8), key, header - 1, len(whole) - 2}):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place // 64 % 8]) + whole[place + 1 :])
        with pytest.warns(UserWarning, match=f"{NAME}.* using the previous checkpoint"):
            assert checkpoint.newest(tmp_path).step == 0
    path.write_bytes(whole)
    assert checkpoint.newest(tmp_path).step == 1


def test_truncated_files_are_detected(tmp_path):
    save(tmp_path, 0)
    save(tmp_path, 1)
    whole = (tmp_path / NAME).read_bytes()
    for size in range(0, len(whole) - 1, 7):
        (tmp_path / NAME).write_bytes(whole[:size])
        with pytest.warns(UserWarning, match=NAME):
            assert checkpoint.newest(tmp_path).step == 0


def rewrite_metadata(path, **changes):
    tensors, content = files.read_tensors(path, 10_000)
    atomic.write_tensors(path, tensors, {**content, **changes}, checked=True)


def test_unknown_formats_are_detected(tmp_path):
    save(tmp_path, 0)
    save(tmp_path, 1)
    rewrite_metadata(tmp_path / NAME, format="old")
    with pytest.warns(UserWarning, match="does not have the entries of a checkpoint"):
        assert checkpoint.newest(tmp_path).step == 0
    rewrite_metadata(tmp_path / NAME, format="3", noiseproof="9.0")
    with pytest.raises(ValueError, match=r"000001.safetensors has format 3, .* format 2: use noiseproof 9.0"):
        checkpoint.newest(tmp_path)


def test_renamed_checkpoint_and_missing_metadata_are_detected(tmp_path):
    save(tmp_path, 1)
    shutil.copy(tmp_path / NAME, tmp_path / "step-000000002.safetensors")
    atomic.write_tensors(tmp_path / "step-000000003.safetensors", {"w": torch.zeros(1)})
    nameless = pytest.warns(UserWarning, match="does not have the entries of a checkpoint")
    with nameless, pytest.warns(UserWarning, match="of step 1 with a wrong file name"):
        assert checkpoint.newest(tmp_path).step == 1


@pytest.mark.parametrize("damage", ["json", "safetensors"])
def test_checkpoints_of_version_0_1_0(tmp_path, damage):
    """Old checkpoints are read, checked by their checksums, and replaced."""
    shutil.copytree(CHECKPOINTS_OF_0_1_0, tmp_path / "old")
    found = checkpoint.newest(tmp_path / "old")
    assert (found.step, found.state["place"]["step"]) == (3, 3)
    assert "head.weight" in found.state["model"]
    path = tmp_path / f"old/step-000000003.{damage}"
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=r"step-000000003.*using the previous checkpoint"):
        assert checkpoint.newest(tmp_path / "old").step == 2
    save(tmp_path / "old", 3)
    assert checkpoint.newest(tmp_path / "old").step == 3
    save(tmp_path / "old", 4)
    assert names(tmp_path / "old") == ["step-000000003.safetensors", "step-000000004.safetensors"]


@pytest.mark.parametrize("step", [-1, 1.0, True, "3"])
def test_invalid_steps_raise_an_error(tmp_path, step):
    with pytest.raises(ValueError, match="step="):
        checkpoint.save(tmp_path, step=step, state={})


@pytest.mark.parametrize("function", ["write", "fsync", "replace"])
@pytest.mark.parametrize("problem", [OSError(errno.EDQUOT, "quota"), KeyboardInterrupt()], ids=repr)
def test_failing_system_call_keeps_the_previous_checkpoint(tmp_path, monkeypatch, function, problem):
    save(tmp_path, 0)
    original = getattr(os, function)
    told = []
    for number in range(1, 100):
        calls = []

        def sometimes(*arguments, calls=calls, number=number):
            calls.append(arguments)
            if len(calls) == number:
                if function == "write":
                    original(arguments[0], arguments[1][:100])
                raise problem
            return original(*arguments)

        monkeypatch.setattr(os, function, sometimes)
        try:
            save(tmp_path, 1)
        except (OSError, KeyboardInterrupt) as raised:
            told.append(str(raised))
            found = checkpoint.newest(tmp_path).step
            assert names(tmp_path) == [f"step-00000000{s}.safetensors" for s in range(found + 1)]
            if found == 1:  # the last flush of the folder failed, everything is written
                (tmp_path / NAME).unlink()
        else:
            break
        monkeypatch.setattr(os, function, original)
    assert len(told) == {"write": 1, "fsync": 2, "replace": 1}[function]
    assert all("step-000000001." in text for text in told if isinstance(problem, OSError))
    assert checkpoint.newest(tmp_path).step == 1


def test_file_size_limit_keeps_the_previous_checkpoint(tmp_path):
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    state = {"w": torch.arange(10_000.0)}
    checkpoint.save(tmp_path, step=0, state=state)
    for size in range(0, 40_000, 4096):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            with pytest.raises(
                OSError, match=r"cannot write 40,\d+ bytes to .*000001.safetensors: File too large"
            ):
                checkpoint.save(tmp_path, step=1, state=state)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert names(tmp_path) == ["step-000000000.safetensors"]
        assert checkpoint.newest(tmp_path).step == 0


def test_full_disk_keeps_the_previous_checkpoint(tmp_path):
    mount = ["sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"', str(tmp_path)]
    inside = ["unshare", "--map-root-user", "--mount", *mount]
    try:
        subprocess.run([*inside, "true"], check=True, capture_output=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system does not allow a small disk of one's own (unshare, mount tmpfs)")
    assert run_script("save_on_a_full_disk", tmp_path, inside=inside)["refused"] > 29


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes; Windows has no fork")


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_kill_at_random_moments_keeps_a_readable_checkpoint(tmp_path, count):
    found = run_script("kill_at_random_moments", tmp_path, count)
    assert found["in the middle of a save"] == count
    assert found["steps"] > 0


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize(("again", "removed"), [(0, 1), (1, 0)])
def test_kill_at_every_system_call_keeps_a_readable_checkpoint(tmp_path, again, removed):
    report = run_script("kill_at_every_call", tmp_path, again)
    assert report["calls"] == 4 + removed  # write, fsync, replace, fsync
    assert report["found"] == [2] * 5 + [3] * (3 + 2 * removed)
