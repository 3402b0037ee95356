"""Run folders of version 0.1.0, which wrote no checksums, are read and resumed."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from noiseproof import __version__, labels, losses
from noiseproof.report import write
from noiseproof.train import Run, compare, fit
from noiseproof.train.resume import RunExistsError

HERE = Path(__file__).parent / "runs_of_0_1_0"


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A copy of the two runs and their data, as working folder."""
    shutil.copytree(HERE, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    return tmp_path / "old"


def test_finished_run_is_read(old):
    assert b"sha256" not in (old / "finished/record/epochs.safetensors").read_bytes()
    run = Run("finished")
    assert (run.record.epochs, len(run.record), run.class_names) == (3, 18, ("0", "1", "2"))
    assert [line["epoch"] for line in run.metrics] == [1, 2, 3]
    assert run.predict(run.config.data).shape == (6, 3)
    assert run.predict(run.config.data, which="best").isfinite().all()
    assert len(labels.find(run)) == 18
    assert write(run).is_file()


def test_unfinished_run_is_resumed_to_the_same_result(old):
    """Weights are compared with a tolerance, since torch and the processor may differ."""
    unfinished = Run("unfinished")
    assert unfinished.record.epochs == 1
    written = unfinished.manifest["environment"]
    same = (written["torch"], written["noiseproof"]) == (torch.__version__, __version__)
    with nullcontext() if same else pytest.warns(UserWarning, match="was started with"):
        run = fit(unfinished.config)
    whole = Run("finished")
    assert run.finished
    for ours, theirs in zip(run.load_model().parameters(), whole.load_model().parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
    assert b"sha256" in (old / "unfinished/record/epochs.safetensors").read_bytes()


def of_loss(name, spec):
    """The run with another loss in its config."""
    path = Path(name) / "config.json"
    path.write_text(path.read_text().replace('"loss": "ce"', f'"loss": "{spec}"'))
    return Run(name)


def test_finished_gr_run_is_read_without_normalisation(old):
    """Version 0.1.0 did not normalise over the batch, so the emphasis is a function of the margin."""
    run = of_loss("finished", "gr(beta=8.0, lam=0.5)")
    plain = losses.get('gr(beta=8.0, lam=0.5, normalize="none")')
    found = run.record.emphasis(losses.get(run.config.loss))
    torch.testing.assert_close(found, plain.emphasis(run.record.margin.float()))
    assert len(labels.find(run)) == 18
    assert write(run).is_file()


@pytest.mark.parametrize("spec", ["gr(beta=8.0, lam=0.5)", "nce + imae"])
def test_unfinished_gr_and_imae_runs_are_not_resumed(old, spec):
    wanted = r"was not normalised over the batch: choose another --out, with normalize=\"none\" in the loss"
    with pytest.raises(RunExistsError, match=wanted):
        fit(of_loss("unfinished", spec).config)
    with pytest.raises(RunExistsError, match=wanted):
        compare([of_loss("finished", spec).config], jobs=1)


def test_current_runs_store_the_complete_loss_spec(tmp_path, old):
    config = Run("finished").config.replace(loss="gr", out=str(tmp_path / "new"), epochs=1)
    run = fit(config)
    assert run.manifest["loss"] == str(losses.get("gr"))
    assert compare([config], jobs=1).rows[0].seeds == [0]
