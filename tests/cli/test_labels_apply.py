"""``noiseproof labels review``, ``apply`` and ``revert`` from a shell."""

import builtins
import json
import shlex

import pandas
import pytest

from noiseproof.labels import Decision, DecisionLog
from noiseproof.train import Config, fit


@pytest.fixture
def run(tmp_path):
    rows = pandas.DataFrame({"x": range(40), "kind": ["low" if row < 20 else "high" for row in range(40)]})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    config = Config(
        data=f'csv(path="{tmp_path}/rows.csv", label="kind")', epochs=2, lr=0.02, loss="gce(q=0.7)"
    )
    fit(config.replace(out=str(tmp_path / "run")))
    return tmp_path / "run"


def test_apply_prints_the_changes_and_the_train_command(run, shell, tmp_path):
    DecisionLog(run / "decisions.jsonl").append([Decision(3, "relabel", "high"), Decision(4, "drop")])
    code, out, err = shell("labels", "apply", run)
    assert (code, err) == (0, "")
    assert "1 labels changed, 1 rows dropped" in out
    words = shlex.split(out.splitlines()[-1])
    assert words[:2] == ["noiseproof", "train"]
    assert shell(*words[1:], "--out", tmp_path / "again", "--quiet")[0] == 0
    kept = pandas.read_csv(tmp_path / "rows.corrected.csv")
    assert len(kept) == 39
    code, out, _ = shell("labels", "revert", tmp_path / "rows.corrected.csv")
    assert (code, "byte for byte equal to the original" in out) == (0, True)


def test_apply_as_json(run, shell, tmp_path):
    DecisionLog(run / "decisions.jsonl").append([Decision(3, "drop")])
    code, out, _ = shell("labels", "apply", run, "--json", "--out", tmp_path / "new.csv")
    found = json.loads(out)
    assert (code, found["dropped"], found["path"]) == (0, 1, str(tmp_path / "new.csv"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "there are no decisions about the labels"),
        (("--drop-above", "1"), "the highest probability is 0."),
        (("--relabel-above", "0"), "relabel=0.0 must be a probability"),
        (("--relabel-above", "1.5"), "should be less than or equal to 1"),
        (("--copy", "--drop-above", "0.001"), "copy needs a folder of images"),
    ],
)
def test_errors_are_reported_in_one_line(run, shell, arguments, words):
    code, _, err = shell("labels", "apply", run, *arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


def test_missing_extra_is_reported_in_one_line(run, shell, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name == "starlette":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    code, _, err = shell("labels", "review", run)
    assert code == 2
    assert err == "noiseproof: labels review needs starlette and uvicorn: pip install 'noiseproof[review]'\n"


def test_review_needs_a_run(shell, tmp_path):
    code, _, err = shell("labels", "review", tmp_path)
    assert (code, "is not a run folder" in err) == (2, True)
