"""Missing data are reported before the first of several runs starts."""

import re
import shutil
from pathlib import Path

import pytest

from noiseproof.cli.data_check import check_data
from noiseproof.train import Config, grid, task


@pytest.fixture
def missing_data(monkeypatch, tmp_path):
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path / "data"))
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ("cifar10", ": noiseproof data get cifar10, or set NOISEPROOF_DATA to a folder that has it\n"),
        ('csv(path="nowhere.csv")', "nowhere.csv"),
        ("digit", "unknown source 'digit', did you mean 'digits'?"),
    ],
)
def test_missing_data_stops_a_comparison_before_training(shell, missing_data, data, part):
    options = ["--data", data, "--loss", "ce", "--loss", "mae", "--seeds", 2, "--out", missing_data]
    code, out, err = shell("compare", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert part in err
    assert not missing_data.exists()


def test_test_data_and_noise_are_checked(shell, points, missing_data):
    for options, part in (
        (["--test", 'csv(path="nowhere.csv")'], "nowhere.csv"),
        (["--noise", "asymmetric(0.4, map='cifar10')"], "classes"),
    ):
        code, out, err = shell("compare", "--data", points, *options, "--out", missing_data)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert part in err


def test_all_missing_data_of_a_table_are_reported_together(shell, missing_data):
    options = ["--rows", "SL", "--columns", "symmetric 0.4", "--seeds", 2, "--out", missing_data]
    code, out, err = shell("papers", "run", "sl.table1", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.findall(r"data get (\w+)", err) == ["mnist", "cifar10", "cifar100"]
    assert err.count("NOISEPROOF_DATA") == 1
    assert not missing_data.exists()


def test_finished_runs_need_no_data(shell, points, tmp_path):
    source = Path(points.split('"')[1])
    mine = Path(shutil.copy(source, tmp_path / "mine.npz"))
    options = ["--data", f'arrays(path="{mine}")', "--model", "mlp(hidden=4)", "--epochs", 1, "--seeds", 1]
    command = ["compare", *options, "--jobs", 1, "--out", tmp_path / "all"]
    assert shell(*command)[0] == 0
    mine.unlink()
    assert shell(*command)[0] == 0
    assert shell(*command, "--loss", "mae")[0] == 2


def test_equal_sources_are_read_once(monkeypatch, tmp_path):
    read = []
    monkeypatch.setattr(task, "make_task", lambda config: read.append((config.data, config.seed)))
    runs = [Config(data=data, noise=noise) for data in ("digits", "mnist") for noise in (None, "pair(0.2)")]
    check_data([one for run in runs for one in grid(run, seeds=3, out=tmp_path)])
    assert read == [("digits", 0), ("mnist", 0)]
