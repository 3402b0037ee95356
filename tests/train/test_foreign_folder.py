"""Run folders from untrusted sources: no writes outside, no unlimited reads, no waiting."""

import os
from pathlib import Path

import pytest
from stopping import StopAt

from noiseproof.atomic import write_text
from noiseproof.dynamics import Record, RunFolder
from noiseproof.lock import RunLock
from noiseproof.recipes import relabel_and_retrain
from noiseproof.train import Interrupted, RunExistsError, compare, fit

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


@pytest.fixture
def outside(tmp_path):
    """A folder with a file; after the test it is checked that the file has not changed."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "epoch-00001.safetensors").write_text("precious")
    yield folder
    assert [path.name for path in folder.iterdir()] == ["epoch-00001.safetensors"]
    assert (folder / "epoch-00001.safetensors").read_text() == "precious"


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to], ids=["symbolic", "hard"])
@pytest.mark.parametrize("name", ["lock", "metrics.jsonl"])
def test_links_for_files_changed_in_place_raise_an_error(config, blobs, tmp_path, name, link):
    folder, victim = Path(config().out), tmp_path / "victim"
    folder.mkdir()
    victim.write_bytes(b"precious" if name == "lock" else b"")
    link(folder / name, victim)
    with pytest.raises(OSError, match=rf"{name}: (it is a symbolic link|it has several hard links);"):
        fit(config(), data=blobs())
    assert victim.read_bytes() == (b"precious" if name == "lock" else b"")


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "result.json", "model.safetensors"])
def test_links_for_replaced_files_are_removed(config, blobs, outside, name):
    """The link is removed and its target is kept; a dangling link is not a run."""
    folder = Path(config().out)
    folder.mkdir()
    (folder / name).symlink_to(outside / "not there")
    run = fit(config(), data=blobs())
    assert run.finished
    assert not (folder / name).is_symlink()


@pytest.mark.parametrize("name", ["record", "checkpoints", "tensorboard"])
def test_links_for_folders_of_a_new_run_raise_an_error(config, blobs, outside, name):
    folder = Path(config().out)
    folder.mkdir()
    (folder / name).symlink_to(outside)
    with pytest.raises(OSError, match=rf"{name}: it is a symbolic link; replace the link by"):
        fit(config(checkpoint_seconds=0.0), data=blobs())


@pytest.mark.parametrize("name", ["record", "checkpoints"])
def test_links_for_folders_of_a_resumed_run_raise_an_error(config, blobs, outside, name):
    """The files of epochs and checkpoints are removed from a finished run, but not through a link."""
    settled = config(checkpoint_seconds=0.0)
    with pytest.raises(Interrupted):
        fit(settled, data=blobs(), watcher=StopAt(6))
    folder = Path(settled.out)
    (folder / name).rename(folder / "aside")
    (folder / name).symlink_to(outside)
    for _ in range(2):
        with pytest.raises(OSError, match="it is a symbolic link"):
            fit(settled, data=blobs())
        (folder / "result.json").write_text("{}")


def test_links_for_runs_of_comparison_and_recipe_raise_an_error(config, outside, tmp_path):
    place = tmp_path / "many"
    (place / "first").mkdir(parents=True)
    (place / "first").rmdir()
    (place / "first").symlink_to(outside)
    with pytest.raises(OSError, match="it is a symbolic link"):
        relabel_and_retrain(config(data="digits", out=str(place)))
    with pytest.raises(OSError, match="it is a symbolic link"):
        compare([config(data="digits", out=str(place / "first"))], jobs=1)


def test_out_may_be_a_link(config, blobs, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert fit(config(out=str(tmp_path / "link")), data=blobs()).finished
    assert (tmp_path / "elsewhere/result.json").is_file()


@pytest.fixture
def finished(config, blobs):
    return fit(config(epochs=1), data=blobs()).folder


@pytest.mark.parametrize("odd", ["pipe", "device"])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("record/samples.safetensors", lambda run: run.record),
        ("record/epochs.safetensors", lambda run: run.record),
        ("manifest.json", lambda run: run.manifest),
        ("manifest.json", lambda run: run.load_model()),
        ("model.safetensors", lambda run: run.load_model()),
    ],
)
def test_pipes_and_devices_are_not_read(finished, name, read, odd):
    from noiseproof.train import Run

    (finished / name).unlink()
    if odd == "pipe":
        os.mkfifo(finished / name)
    else:
        (finished / name).symlink_to("/dev/zero")
    with pytest.raises((ValueError, FileNotFoundError), match=Path(name).name.replace(".", r"\.")):
        read(Run(finished))


def test_pipe_in_place_of_an_epoch_raises_an_error(config, blobs):
    settled = config(epochs=5)
    with pytest.raises(Interrupted):
        fit(settled, data=blobs(), watcher=StopAt(14))
    file = Path(settled.out, "record/epoch-00002.safetensors")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ValueError, match=r"epoch-00002\.safetensors: it is not a regular"):
        Record.load(file.parent)
    with pytest.raises(RunExistsError, match="no complete record of epoch 2"):
        fit(settled, data=blobs())


def test_report_replaces_a_link(finished, tmp_path):
    from noiseproof.report import write

    (tmp_path / "victim").write_text("precious")
    (finished / "report.html").symlink_to(tmp_path / "victim")
    write(RunFolder(finished))
    assert (tmp_path / "victim").read_text() == "precious"
    assert "<html" in (finished / "report.html").read_text()


def test_link_for_the_lock_raises_an_error(tmp_path):
    write_text(tmp_path / "victim", "precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match=r"run/lock: it is a symbolic link; replace the link by"):
        RunLock(tmp_path / "run").__enter__()
    assert (tmp_path / "victim").read_text() == "precious"
