"""``--engine`` where there is no Ray."""

import sys

import pytest


@pytest.mark.parametrize(
    "words", [["compare", "--seeds", "1", "--out", "runs/a"], ["labels", "find", "--data", "digits"]]
)
def test_missing_ray_is_reported_in_one_line(words, shell, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    told = shell(*words, "--engine", "ray")
    assert told == (2, "", "noiseproof: engine 'ray' needs Ray: pip install 'noiseproof[ray]'\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["compare", "--engine", "slurm"], "unknown engine 'slurm': choose 'local' or 'ray'"),
        (["labels", "find", "--data", "digits", "--engine", "slurm"], "unknown engine 'slurm'"),
        (["labels", "find", "runs/a", "--engine", "ray"], "--engine ray needs cross-fitting: give --folds"),
    ],
)
def test_errors_are_reported_in_one_line(words, part, shell):
    code, out, err = shell(*words)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert part in err
