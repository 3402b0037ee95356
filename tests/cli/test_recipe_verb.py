"""``noiseproof recipe``, and combinations of losses and regularisers."""

import json

import pytest

from noiseproof.train import Run


def test_relabel_reports_both_runs_and_changed_labels(shell, short, tmp_path):
    place = tmp_path / "twice"
    code, out, _ = shell("recipe", "relabel", *short, "--epochs", 3, "--lr", 0.1, "--out", place, "--quiet")
    assert code == 0
    first, second = Run(place / "first"), Run(place / "second")
    for run in (first, second):
        assert f"{100 * run.result['final_test_accuracy']:.1f}%" in out
    changed = int((first.record.label != second.record.label).sum())
    row = next(line for line in out.splitlines() if "labels changed" in line)
    assert row.split("│")[3].strip() == str(changed)
    assert second.record.label.tolist() == first.outputs["train_probability"].argmax(1).tolist()


def test_correct_prints_json(shell, short, tmp_path):
    place = tmp_path / "matrix"
    words = ["--correction", "forward", "--estimate", "confident", "--epochs", 2, "--out", place]
    code, out, err = shell("recipe", "correct", *short, *words, "--json", "--quiet")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["second"] == Run(place / "second").result
    assert Run(place / "second").config.method.startswith("forward(transition=")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["correct", "--estimate", "guess"], "guess"),
        (["correct", "--correction", "elr"], "elr"),
        (["relabel", "--loss", "nonsense"], "nonsense"),
    ],
)
def test_errors_are_reported_in_one_line(shell, short, tmp_path, words, message):
    code, out, err = shell("recipe", *words, *short, "--epochs", 1, "--out", tmp_path / "a", "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith("noiseproof: ")
    assert len(err.splitlines()) == 1
    assert message in err


@pytest.mark.parametrize("loss", ["ce", "gce(q=0.7)", "gr(beta=8.0, lam=0.5)"])
@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_every_loss_with_decay_and_dropout(shell, short, tmp_path, loss, decay, dropout):
    words = ["--loss", loss, "--weight-decay", decay, "--dropout", dropout, "--epochs", 1]
    code, _, err = shell("train", *short, *words, "--out", tmp_path / "a", "--quiet")
    assert code == 0, err
    config = Run(tmp_path / "a").config
    assert (config.loss, config.weight_decay, config.dropout) == (loss, decay, dropout)


def test_early_stopping_on_noisy_labels(shell, short, tmp_path):
    words = ["--validation", 0.3, "--patience", 2, "--epochs", 200, "--lr", 0.5, "--out", tmp_path / "a"]
    code, _, err = shell("train", *short, *words, "--quiet")
    assert code == 0, err
    run = Run(tmp_path / "a")
    scores = [line["validation_accuracy"] for line in run.metrics]
    assert len(scores) < 200
    assert len(scores) - 1 - scores.index(max(scores)) == 2
    assert run.manifest["data"]["validation"]["samples"] == 27
