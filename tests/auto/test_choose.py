"""The automatic choice: by noisy labels, resumable, stored in the run folder."""

import importlib
import json

import numpy as np
import pytest
import torch

from noiseproof import auto
from noiseproof.auto.candidates import Candidate
from noiseproof.auto.choose import Trial, _best, choose
from noiseproof.data import LabelledData
from noiseproof.train import Config, Interrupted, Run, RunExistsError, Watcher
from noiseproof.train import fit as train_fit


def blobs(wrong=0, clean_known=True):
    generator = torch.Generator().manual_seed(0)
    clean = torch.arange(90) % 3
    inputs = 3 * torch.eye(3, 4)[clean] + 0.3 * torch.randn(90, 4, generator=generator)
    label = clean.clone()
    label[:wrong] = (label[:wrong] + 1) % 3
    return LabelledData(inputs, label, clean_label=clean if clean_known else None, name="blobs")


@pytest.fixture
def config(tmp_path):
    settings = {"model": "mlp(hidden=8)", "batch_size": 16, "epochs": 6, "lr": 0.1, "device": "cpu"}
    return Config(**settings, out=str(tmp_path / "run"))


def test_choice_is_stored_and_trials_are_removed(config, tmp_path):
    told = []
    run = auto.fit(config, data=blobs(20), rates=(1.0,), log=told.append)
    assert run.finished
    assert run.config.validation == 0.2
    assert run.choice["words"].startswith(f"{run.config.method or run.config.loss}, lr 0.1")
    assert "of 18 held-out labels" in run.choice["words"]
    assert len(told) == len(run.choice["trials"]) >= 8
    assert told[0] == "trial 1 of 6: ce, lr 0.1, 1 epochs"
    assert not (tmp_path / "run" / "choice").exists()
    assert Run(config.out).result["selected"] is not None


def test_chosen_run_holds_out_fewer_rows_than_its_trials(config, monkeypatch):
    monkeypatch.setattr(importlib.import_module("noiseproof.auto.choose"), "MAX_VALIDATION_ROWS", 9)
    choice = auto.choose(config, data=blobs(20), rates=(1.0,))
    assert "of 18 held-out labels" in choice.words
    assert choice.config.validation == pytest.approx(0.1)


def test_given_validation_rows_are_used_by_trials_and_the_chosen_run(config, tmp_path):
    share = auto.choose(config.replace(validation=0.4), data=blobs(20), rates=(1.0,))
    assert share.config.validation == 0.4
    assert "of 36 held-out labels" in share.words
    place = tmp_path / "more.npz"
    np.savez(place, x_train=np.eye(3, 4, dtype="f4")[np.arange(30) % 3], y_train=np.arange(30) % 3)
    own = config.replace(validation_data=f'npz(path="{place}")', out=str(tmp_path / "own"))
    given = auto.choose(own, data=blobs(20), rates=(1.0,))
    assert (given.config.validation, given.config.validation_data) == (0, own.validation_data)
    assert "of 30 held-out labels" in given.words


def test_choice_does_not_depend_on_clean_labels(config, tmp_path):
    runs = []
    for known in (True, False):
        here = config.replace(out=str(tmp_path / str(known)))
        runs.append(auto.fit(here, data=blobs(20, known), rates=(1.0,)))
    assert runs[0].choice["trials"] == runs[1].choice["trials"]
    assert runs[0].config.loss == runs[1].config.loss


class StopsAfter(Watcher):
    def __init__(self, runs):
        self.left = runs

    def end(self):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_interrupted_choice_is_resumed(config, tmp_path):
    whole = auto.fit(config.replace(out=str(tmp_path / "whole")), data=blobs(20), rates=(1.0,))
    with pytest.raises((KeyboardInterrupt, Interrupted)):
        auto.fit(config, data=blobs(20), rates=(1.0,), watcher=StopsAfter(4))
    before = sorted(path.name for path in (tmp_path / "run" / "choice").iterdir())
    assert len(before) == 4

    class Counts(Watcher):
        ended = 0

        def end(self):
            Counts.ended += 1

    run = auto.fit(config, data=blobs(20), rates=(1.0,), watcher=Counts())
    assert Counts.ended == len(whole.choice["trials"]) + 1 - 4
    assert run.choice["words"] == whole.choice["words"]
    assert torch.equal(run.outputs["train_probability"], whole.outputs["train_probability"])


def test_other_settings_and_other_runs_are_refused(config):
    found = choose(config, data=blobs(), rates=(1.0,))
    assert choose(config, data=blobs()).words == found.words
    with pytest.raises(RunExistsError, match="seed: 0 -> 1"):
        choose(config.replace(seed=1), data=blobs())
    train_fit(found.config, data=blobs())
    with pytest.raises(RunExistsError, match="is finished"):
        auto.fit(config, data=blobs())


def test_run_with_a_given_loss_is_refused(config):
    train_fit(config, data=blobs())
    with pytest.raises(RunExistsError, match="is a run without --loss auto"):
        choose(config, data=blobs())


def test_best_candidates_and_cross_entropy_of_equal_ones():
    usual, other = Candidate("ce", None, 0.1), Candidate("sl", None, 0.1)

    def trials(gain):
        return [Trial(other, "1 epochs", 0.6 + gain), Trial(usual, "1 epochs", 0.6)]

    assert _best(trials(0.0), 1) == [usual]
    assert _best(trials(0.01), 1) == [other]
    assert _best(trials(0.3), 2) == [other, usual]


def test_train_fit_refuses_loss_auto(config):
    with pytest.raises(ValueError, match=r"only for auto\.fit and 'noiseproof train --loss auto'"):
        train_fit(config.replace(loss="auto"))


def test_damaged_choice_is_reported(config, tmp_path):
    choose(config, data=blobs(), rates=(1.0,))
    (tmp_path / "run" / "choice.json").write_text("{}")
    with pytest.raises(ValueError, match="it does not contain a choice"):
        choose(config, data=blobs())


@pytest.mark.parametrize(("last", "which"), [(0.9, "final"), (0.88, "final"), (0.7, "best")])
def test_the_last_epoch_is_used_unless_it_is_clearly_worse(config, last, which):
    run = auto.fit(config, data=blobs(), rates=(1.0,))
    lines = [{**line, "validation_accuracy": last} for line in run.metrics]
    path = run.folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = {**run.result, "selected": {**run.result["selected"], "validation_accuracy": 0.9}}
    (run.folder / "result.json").write_text(json.dumps(result))
    assert auto.which_epoch(Run(run.folder)) == which


def used(run):
    """Test accuracy of the selected epoch."""
    if auto.which_epoch(run) == "final":
        return run.result["final_test_accuracy"]
    return run.result["selected"]["test_accuracy"]


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "behind"), [(None, 0.015), ("symmetric(0.4)", 0.02)])
def test_accuracy_on_digits_is_close_to_cross_entropy(noise, behind, tmp_path):
    """Cross entropy with the epoch selected by noisy validation, and with all labels to the last epoch.

    One of the 357 test images is 0.003.
    """
    config = Config(noise=noise, model="mlp(standardize=True)")
    ours = used(auto.fit(config.replace(out=str(tmp_path / "auto"))))
    held_out = train_fit(config.replace(validation=0.2, lr=0.05, out=str(tmp_path / "held out")))
    whole = train_fit(config.replace(lr=0.05, out=str(tmp_path / "whole")))
    assert ours >= held_out.result["selected"]["test_accuracy"] - behind
    assert ours >= whole.result["final_test_accuracy"] - behind
