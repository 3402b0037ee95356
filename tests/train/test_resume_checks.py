"""An interrupted run is resumed exactly, or an error names the incomplete file."""

import json
from pathlib import Path

import pytest
from stopping import StopAt, contents

from noiseproof.train import Interrupted, Run, RunExistsError, Watcher, checkpoint, fit


@pytest.fixture
def unfinished(config, blobs):
    """A config of five epochs of four steps, and its folder, stopped in the fourth epoch."""
    settings = config(epochs=5)
    with pytest.raises(Interrupted):
        fit(settings, data=blobs(wrong=15), test=blobs(seed=1), watcher=StopAt(14))
    return settings, Path(settings.out)


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock"}


def error_on_resume(unfinished, blobs):
    """Return the error message of resuming the run, which must not change any file."""
    settings, folder = unfinished
    before = files(folder)
    with pytest.raises(RunExistsError) as problem:
        fit(settings, data=blobs(wrong=15), test=blobs(seed=1))
    assert files(folder) == before
    assert "\n" not in str(problem.value)
    assert str(problem.value).endswith(
        ": restore the file, remove the folder to train it again, or choose another --out"
    )
    return str(problem.value)


def without_epochs(*epochs):
    return lambda lines: [line for line in lines if json.loads(line)["epoch"] not in epochs]


DAMAGES = [
    (without_epochs(2), "no complete line for epoch 2, but the run has finished 3"),
    (without_epochs(1, 3), "no complete line for epoch 1, 3, but"),
    (lambda lines: [], "no complete line for epoch 1, 2, 3, but"),
    (lambda lines: [*lines[:2], lines[2][:40]], "no complete line for epoch 3, but"),
    (lambda lines: [lines[0], lines[1][:40] + b"\n", lines[2]], "no complete line for epoch 2, but"),
    (lambda lines: [lines[0], b'{"epoch": "2"}\n', b"[2]\n", lines[2]], "no complete line for epoch 2, but"),
    (lambda lines: [lines[0], b"\xff\n", lines[2]], "no complete line for epoch 2, but"),
    (lambda lines: [*lines, lines[0]], "repeated or unordered epochs, but"),
    (lambda lines: lines[::-1], "repeated or unordered epochs, but"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES, ids=range(len(DAMAGES)))
def test_lost_metrics_raise_an_error(unfinished, blobs, damage, words):
    metrics = unfinished[1] / "metrics.jsonl"
    whole = metrics.read_bytes()
    metrics.write_bytes(b"".join(damage(whole.splitlines(keepends=True))))
    assert error_on_resume(unfinished, blobs).startswith(f"{metrics} has {words}")
    metrics.write_bytes(whole)
    assert [line["epoch"] for line in resume(unfinished, blobs).metrics] == [1, 2, 3, 4, 5]


def resume(unfinished, blobs):
    return fit(unfinished[0], data=blobs(wrong=15), test=blobs(seed=1))


def test_error_lists_at_most_eight_epochs_without_metrics(config, blobs):
    settings = config(epochs=12)
    with pytest.raises(Interrupted):
        fit(settings, data=blobs(wrong=15), test=blobs(seed=1), watcher=StopAt(46))
    (Path(settings.out) / "metrics.jsonl").unlink()
    found = error_on_resume((settings, Path(settings.out)), blobs)
    assert "no complete line for epoch 1, 2, 3, 4, 5, 6, 7, 8, ..., but the run has finished 11" in found


def test_metrics_of_repeated_epochs_are_replaced(unfinished, blobs, config, tmp_path):
    unbroken = fit(config(epochs=5, out=str(tmp_path / "whole")), data=blobs(wrong=15), test=blobs(seed=1))
    metrics = unfinished[1] / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes() + b'{"epoch": 4, "loss": 9.0}\n{"epoch": 5, "lo')
    assert contents(resume(unfinished, blobs).folder) == contents(unbroken.folder)


@pytest.mark.parametrize("keep", [lambda text: text[: len(text) // 2], lambda text: "[]", lambda text: ""])
def test_damaged_manifest_raises_an_error(unfinished, blobs, keep):
    manifest = unfinished[1] / "manifest.json"
    manifest.write_text(keep(manifest.read_text()))
    assert error_on_resume(unfinished, blobs).startswith(f"{manifest} is damaged (")


@pytest.mark.parametrize("name", ["manifest.json", "config.json"])
def test_missing_file_beside_checkpoints_raises_an_error(unfinished, blobs, name):
    (unfinished[1] / name).unlink()
    assert error_on_resume(unfinished, blobs).startswith(
        f"{unfinished[1] / name} is missing, but the run has checkpoints"
    )


def change_json(path, **entries):
    """Change entries of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def test_newer_format_raises_an_error_with_the_version(unfinished, blobs):
    manifest = unfinished[1] / "manifest.json"
    change_json(manifest, format=99, environment={"noiseproof": "7.1.0"})
    words = (
        r"manifest\.json has format 99, this version of noiseproof reads format 1: use noiseproof 7\.1\.0 or"
    )
    with pytest.raises(RunExistsError, match=words):
        resume(unfinished, blobs)
    for read in (lambda run: run.record, lambda run: run.load_model(), lambda run: run.manifest):
        with pytest.raises((ValueError, FileNotFoundError), match=r"format 99|it is unfinished"):
            read(Run(unfinished[1]))


@pytest.mark.parametrize("version", ["1", 0, -1, True, 1.5, None])
def test_invalid_format_version_raises_an_error(unfinished, blobs, version):
    change_json(unfinished[1] / "manifest.json", format=version)
    assert f"is damaged (its format {version!r} is not a valid version): restore" in error_on_resume(
        unfinished, blobs
    )


def test_different_versions_give_a_warning(unfinished, blobs):
    change_json(unfinished[1] / "manifest.json", environment={"noiseproof": "0.0.9", "torch": "2.6.0"})
    with pytest.warns(
        UserWarning, match=r"started with noiseproof 0\.0\.9 \(now .*\) and torch 2\.6\.0 \(now "
    ):
        assert resume(unfinished, blobs).finished


def test_run_without_a_checkpoint_restarts_with_other_data(config, blobs):
    """A failed attempt with a broken file must not affect the second one without that file."""

    class Broken(Watcher):
        def step(self, done):
            raise ValueError("cannot read sample 7")

    with pytest.raises(ValueError, match="sample 7"):
        fit(config(), data=blobs(), watcher=Broken())
    run = fit(config(), data=blobs(59))
    assert run.manifest["data"]["train"]["samples"] == 59
    assert len(run.record) == 59


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("model"),
        lambda state: state.update(place={"epoch": -4, "batch": 0, "step": 0}),
        lambda state: state.update(place={"epoch": "x", "batch": 0, "step": 0}),
        lambda state: state.update(optimizer=3),
        lambda state: state["model"].update({"head.weight": {"$tensor": "random.cpu"}}),
        lambda state: state["model"].update({"head.weight": {"$tensor": "nothing"}}),
        lambda state: state.update(model={"$dict": [1]}),
    ],
    ids=range(7),
)
def test_checkpoint_with_invalid_content_raises_an_error(unfinished, blobs, monkeypatch, change):
    """The checksum is valid, the content does not fit the run."""
    folder = unfinished[1] / "checkpoints"
    found = checkpoint.newest(folder)
    state = json.loads(json.dumps(found.plain))
    change(state)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "flatten", lambda forged: (found.tensors, forged))
        checkpoint.save(folder, step=found.step, state=state)
    assert error_on_resume(unfinished, blobs).startswith(
        f"{folder}: the newest checkpoint does not fit the run ("
    )


def test_flipped_bit_in_the_record_raises_an_error(unfinished, blobs):
    file = unfinished[1] / "record/epoch-00002.safetensors"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(RunExistsError, match="no complete record of epoch 2"):
        resume(unfinished, blobs)
    with pytest.raises(ValueError, match=r"epoch-00002\.safetensors: its checksum is wrong"):
        _ = Run(unfinished[1]).record


def test_finished_run_with_a_damaged_manifest_is_reported_as_finished(unfinished, blobs):
    run = resume(unfinished, blobs)
    (run.folder / "manifest.json").write_text("{")
    with pytest.raises(RunExistsError, match="is finished: choose another --out"):
        resume(unfinished, blobs)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:-9])])
def test_damaged_samples_file_is_rewritten(unfinished, blobs, config, tmp_path, damage):
    unbroken = fit(config(epochs=5, out=str(tmp_path / "whole")), data=blobs(wrong=15), test=blobs(seed=1))
    samples = unfinished[1] / "record" / "samples.safetensors"
    whole = samples.read_bytes()
    damage(samples)
    run = resume(unfinished, blobs)
    assert samples.read_bytes() == whole
    assert contents(run.folder) == contents(unbroken.folder)
    assert run.record.label.equal(unbroken.record.label)
