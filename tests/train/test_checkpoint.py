"""A checkpoint that was saved is found again, whatever happens; what is broken is noticed."""

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

from noiseproof.train import checkpoint
from noiseproof.train.mark import checksum

SCRIPT = Path(__file__).with_name("saving_until_killed.py")
NAMES = ["step-000000001.json", "step-000000001.safetensors"]


def script(*arguments, inside=()):
    command = [*inside, sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def save(folder, step, **state):
    checkpoint.save(folder, step=step, tensors={"w": torch.full((50,), float(step))}, state=state)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_saved_comes_back(tmp_path):
    state = {
        "lr": 0.1 + 0.2,
        "tiny": 5e-324,
        "big": 2**70,
        "name": "é\n\ud800",
        "none": None,
        "list": [True, {}],
    }
    tensors = {"w": torch.randn(3, 4).t(), "b": torch.tensor(2, dtype=torch.int64), "h": torch.ones(2).half()}
    checkpoint.save(tmp_path / "new" / "folder", step=12, tensors=tensors, state=state)
    found = checkpoint.newest(tmp_path / "new" / "folder")
    assert (found.step, found.state) == (12, state)
    assert type(found.state["list"][0]) is bool
    for name, tensor in tensors.items():
        assert torch.equal(found.tensors[name], tensor)
        assert found.tensors[name].dtype == tensor.dtype
    assert checkpoint.newest(tmp_path / "nothing") is None
    found.tensors["w"].add_(1)


def test_the_mark_says_who_wrote_it(tmp_path):
    save(tmp_path, 1)
    content = json.loads((tmp_path / NAMES[0]).read_text())
    assert content["format"] == 1
    assert content["torch"] == torch.__version__
    assert {"noiseproof", "step", "sha256", "state", "checksum"} < content.keys()


def test_the_newest_two_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "step-000000002.safetensors").write_text("a save that was killed")
    for step in (1, 5, 999_999_999, 1_000_000_000):
        save(tmp_path, step)
    assert checkpoint.newest(tmp_path).step == 1_000_000_000
    assert names(tmp_path) == ["notes.txt"] + [
        f"step-{step}.{end}" for step in (1_000_000_000, 999_999_999) for end in ("json", "safetensors")
    ]


def test_a_run_that_went_back_does_not_lose_its_new_checkpoint(tmp_path):
    for step in (10, 20):
        save(tmp_path, step)
    for path in tmp_path.glob("*.safetensors"):
        path.write_bytes(b"broken")
    with pytest.warns(UserWarning, match="safetensors is damaged") as warned:
        assert checkpoint.newest(tmp_path) is None
    assert len(warned) == 2
    save(tmp_path, 5)
    assert checkpoint.newest(tmp_path).step == 5
    assert len(names(tmp_path)) == 2


def test_saving_a_step_again(tmp_path, monkeypatch):
    save(tmp_path, 1, lr=0.1)
    save(tmp_path, 1, lr=0.2)
    assert checkpoint.newest(tmp_path).state == {"lr": 0.2}
    assert names(tmp_path) == NAMES

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="intact"):
        save(tmp_path, 1, lr=0.3)
    with pytest.raises(OSError, match="intact"):
        checkpoint.save(tmp_path, step=1, tensors={"w": torch.zeros(2)}, state={})
    assert checkpoint.newest(tmp_path).state == {"lr": 0.2}
    assert names(tmp_path) == NAMES


def test_saving_a_step_again_with_other_tensors(tmp_path):
    for number in range(4):
        checkpoint.save(tmp_path, step=1, tensors={"w": torch.full((2,), float(number))}, state={})
        assert checkpoint.newest(tmp_path).tensors["w"].tolist() == [number] * 2
        assert len(names(tmp_path)) == 2
    save(tmp_path, 2)
    save(tmp_path, 3)
    assert len(names(tmp_path)) == 4


def test_saving_over_a_damaged_step(tmp_path):
    for name in NAMES:
        save(tmp_path, 1)
        (tmp_path / name).write_bytes(b"damage")
        save(tmp_path, 1)
        assert checkpoint.newest(tmp_path).step == 1
        assert len(names(tmp_path)) == 2


@pytest.mark.parametrize("name", NAMES)
def test_every_flipped_bit_is_noticed(tmp_path, name):
    save(tmp_path, 0)
    save(tmp_path, 1, long=[1.5, "text", None] * 100)
    path = tmp_path / name
    whole = path.read_bytes()
    for place in sorted({*range(0, len(whole), 64), len(whole) - 2}):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place // 64 % 8]) + whole[place + 1 :])
        with pytest.warns(UserWarning, match=f"{name}.* going back"):
            assert checkpoint.newest(tmp_path).step == 0
    path.write_bytes(whole)
    assert checkpoint.newest(tmp_path).step == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_cut_is_noticed(tmp_path, name):
    save(tmp_path, 0)
    save(tmp_path, 1)
    whole = (tmp_path / name).read_bytes()
    for size in range(0, len(whole) - 1, 7):
        (tmp_path / name).write_bytes(whole[:size])
        with pytest.warns(UserWarning, match=name):
            assert checkpoint.newest(tmp_path).step == 0


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"3", b"null", b'{"checksum": NaN}', b"\xff", b"[" * 100_000, b'{"checksum": []}']
)
def test_a_mark_that_is_none(tmp_path, text):
    save(tmp_path, 0)
    (tmp_path / "step-000000001.json").write_bytes(text)
    with pytest.warns(UserWarning, match="is damaged"):
        assert checkpoint.newest(tmp_path).step == 0


def rewritten(path, **changes):
    content = {**json.loads(path.read_text()), **changes}
    content.pop("checksum")
    path.write_text(json.dumps({**content, "checksum": checksum(content)}))


def test_other_formats(tmp_path):
    save(tmp_path, 0)
    save(tmp_path, 1)
    rewritten(tmp_path / NAMES[0], format="old")
    with pytest.warns(UserWarning, match="unknown format 'old'"):
        assert checkpoint.newest(tmp_path).step == 0
    rewritten(tmp_path / NAMES[0], format=2, noiseproof="9.0")
    with pytest.raises(ValueError, match=r"000001.json has format 2, .* reads format 1: use noiseproof 9.0"):
        checkpoint.newest(tmp_path)


def test_a_missing_tensor_file_and_a_renamed_checkpoint(tmp_path):
    for step in (1, 2):
        save(tmp_path, step)
    (tmp_path / "step-000000002.safetensors").unlink()
    with pytest.warns(UserWarning, match=r"cannot read .*2.safetensors: No such file"):
        assert checkpoint.newest(tmp_path).step == 1
    for end in ("json", "safetensors"):
        shutil.copy(tmp_path / f"step-000000001.{end}", tmp_path / f"step-000000002.{end}")
    with pytest.warns(UserWarning, match="is the checkpoint of step 1 under a wrong name"):
        assert checkpoint.newest(tmp_path).step == 1


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"a": [1, {"b": math.nan}]}, r"state\['a'\]\[1\]\['b'\] is nan"),
        ({"a": -math.inf}, r"state\['a'\] is -inf"),
        ({"a": {1: 2}}, r"state\['a'\] has the key 1"),
        ({"a": (1, 2)}, r"state\['a'\] is a tuple"),
        ({"a": torch.ones(1)}, r"state\['a'\] is a Tensor"),
    ],
)
def test_what_json_would_change_is_refused(tmp_path, state, message):
    with pytest.raises(ValueError, match=message):
        save(tmp_path, 1, **state)
    assert names(tmp_path) == []


@pytest.mark.parametrize("step", [-1, 1.0, True, "3"])
def test_steps_are_whole_numbers(tmp_path, step):
    with pytest.raises(ValueError, match="step="):
        checkpoint.save(tmp_path, step=step, tensors={}, state={})


@pytest.mark.parametrize("function", ["write", "fsync", "replace"])
@pytest.mark.parametrize("problem", [OSError(errno.EDQUOT, "quota"), KeyboardInterrupt()], ids=repr)
def test_every_failing_call_leaves_the_one_before_and_no_rubbish(tmp_path, monkeypatch, function, problem):
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
            assert names(tmp_path) == [
                f"step-00000000{s}.{e}" for s in range(found + 1) for e in ("json", "safetensors")
            ]
            if found == 1:  # the last flush of the folder failed, everything is written
                (tmp_path / NAMES[0]).unlink()
                (tmp_path / NAMES[1]).unlink()
        else:
            break
        monkeypatch.setattr(os, function, original)
    assert len(told) == {"write": 2, "fsync": 4, "replace": 2}[function]
    assert all("step-000000001." in text for text in told if isinstance(problem, OSError))
    assert checkpoint.newest(tmp_path).step == 1


def test_a_limit_on_the_size_of_files_at_every_page(tmp_path):
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    tensors = {"w": torch.arange(10_000.0)}
    checkpoint.save(tmp_path, step=0, tensors=tensors, state={})
    for size in range(0, 40_000, 4096):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            with pytest.raises(
                OSError, match=r"cannot write 40,\d+ bytes to .*000001.safetensors: File too large"
            ):
                checkpoint.save(tmp_path, step=1, tensors=tensors, state={})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert names(tmp_path) == ["step-000000000.json", "step-000000000.safetensors"]
        assert checkpoint.newest(tmp_path).step == 0


def test_a_full_disk_at_every_page(tmp_path):
    mount = ["sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"', str(tmp_path)]
    inside = ["unshare", "--map-root-user", "--mount", *mount]
    try:
        subprocess.run([*inside, "true"], check=True, capture_output=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system does not allow a small disk of one's own (unshare, mount tmpfs)")
    assert script("on_a_full_disk", tmp_path, inside=inside)["refused"] > 29


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes; Windows has no fork")


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_killed_at_random_moments(tmp_path, count):
    found = script("at_random_moments", tmp_path, count)
    assert found["in the middle of a save"] == count
    assert found["steps"] > 0


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize(("again", "removed"), [(0, 2), (1, 1)])
def test_killed_before_and_after_every_system_call(tmp_path, again, removed):
    report = script("at_every_call", tmp_path, again)
    assert report["calls"] == 8 + removed  # write, fsync, replace, fsync for each file
    assert report["found"] == [2] * 13 + [3] * (3 + 2 * removed)
