"""Ray engine: results if Ray is installed, error messages if it is not."""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from stopping import contents

from noiseproof import labels
from noiseproof.integrations import ray as engine
from noiseproof.integrations.ray import compare_with_ray, share_of_machine
from noiseproof.train import Config, compare, fit, grid

SCRIPT = Path(__file__).with_name("ray_until_killed.py")
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def test_missing_ray_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"pip install 'noiseproof\[ray\]'"):
        compare_with_ray([Config(device="cpu")])
    with pytest.raises(ValueError, match=r"pip install 'noiseproof\[ray\]'"):
        labels.find(np.eye(4), label=[0, 0, 1, 1], engine="ray")


def test_invalid_engine_raises_an_error(monkeypatch):
    with pytest.raises(ValueError, match="unknown engine 'slurm': choose 'local' or 'ray'"):
        compare([Config(device="cpu")], engine="slurm")
    with pytest.raises(ValueError, match="unknown engine 'slurm': choose 'local' or 'ray'"):
        labels.find(np.eye(4), label=[0, 0, 1, 1], engine="slurm")
    monkeypatch.setattr(sys.modules["noiseproof.labels.find"], "check_engine", lambda name: None)
    with pytest.raises(TypeError, match="engine= cannot be used here: there are no data to cross-fit"):
        labels.find(probabilities=np.full((4, 2), 0.5), label=[0, 0, 1, 1], engine="ray")


def test_finished_runs_need_no_cluster(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    config = Config(device="cpu", epochs=1, model="mlp(hidden=8)", out=str(tmp_path / "run"))
    fit(config)
    assert compare_with_ray([config]) == {}


def test_share_of_machine(monkeypatch):
    monkeypatch.setattr(engine, "cores", lambda: 8)
    assert share_of_machine([Config(device="cpu")], None) == {"num_cpus": 1}
    assert share_of_machine([Config(device="cpu")], 2) == {"num_cpus": 4}
    assert share_of_machine([Config(device="cpu")], 100) == {"num_cpus": 1}
    with pytest.raises(ValueError, match="jobs=0 must be at least 1"):
        share_of_machine([Config(device="cpu")], 0)


def run_with_signals(folder, kind):
    command = [sys.executable, str(SCRIPT), str(folder), kind]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_runs(folder, tmp_path):
    """Every run is bit-identical to an uninterrupted one."""
    runs = sorted(path.parent for path in folder.glob("runs/*/config.json"))
    assert len(runs) == 2
    for number, run in enumerate(runs):
        unbroken = tmp_path / f"unbroken {number}"
        fit(Config.load(run / "config.json").replace(out=str(unbroken)))
        assert contents(run) == contents(unbroken)


def small_data():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 90)
    return rng.normal(size=(90, 4)) + 2 * np.eye(3, 4)[label], label


@pytest.mark.parametrize(
    "model", [pytest.param(None, marks=pytest.mark.slow), ["neighbours"], "mlp(hidden=8)"]
)
def test_folds_fitted_separately_equal_folds_fitted_together(model, monkeypatch):
    """Ray is replaced by a function that fits the folds one after the other, in reversed order."""

    def fit_parts(fit, parts, on_begin, device):
        fitted = {}
        for number in reversed(range(len(parts))):
            on_begin(len(fitted))
            fitted[number] = fit(parts[number])
        return [fitted[number] for number in range(len(parts))]

    rows, label = small_data()
    monkeypatch.setattr("noiseproof.labels.networks.default_epochs", lambda rows: 2)
    alone = labels.find(rows, label=label, model=model, folds=3)
    monkeypatch.setattr(engine, "fit_parts", fit_parts)
    monkeypatch.setattr(engine, "cluster", nullcontext)
    monkeypatch.setattr(sys.modules["noiseproof.labels.find"], "check_engine", lambda name: None)
    told = []
    found = labels.find(
        rows, label=label, model=model, folds=3, engine="ray", on_fit=lambda *news: told.append(news)
    )
    pd.testing.assert_frame_equal(found, alone, check_exact=True)
    assert told[:3] == [(model if isinstance(model, str) else "models", number) for number in range(3)]


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("model", [None, "mlp(hidden=8)"])
def test_find_with_ray_is_bit_identical_to_local(model):
    rows, label = small_data()
    alone, found = (
        labels.find(rows, label=label, model=model, folds=2, engine=name) for name in ("local", "ray")
    )
    pd.testing.assert_frame_equal(found, alone, check_exact=True)
    assert found.attrs == alone.attrs


@needs_ray
@pytest.mark.slow
def test_error_on_a_worker_is_raised_in_the_caller():
    rows, label = small_data()
    with pytest.raises(ValueError, match=r"^model 'oak' is unknown, choose among"):
        labels.find(rows, label=label, model=["oak"], engine="ray")


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_with_ray_are_bit_identical_to_local(jobs, tmp_path, monkeypatch):
    """The path of the data is relative to the working directory of the caller."""
    rows, label = small_data()
    inputs = rows.astype(np.float32)
    monkeypatch.chdir(tmp_path)
    np.savez("small.npz", x_train=inputs, y_train=label, x_test=inputs[:9], y_test=label[:9])
    base = Config(data='arrays(path="small.npz")', model="mlp(hidden=8)", epochs=3, device="cpu")
    folders = {}
    for name in ("local", "ray"):
        runs = grid(base, losses=["ce", "mae"], seeds=1, out=name)
        found = compare(runs, jobs=jobs, engine=name)
        assert [one.problem for one in found.outcomes] == [None, None]
        folders[name] = [one.folder for one in found.outcomes]
    assert [contents(run) for run in folders["ray"]] == [contents(run) for run in folders["local"]]


@needs_ray
@pytest.mark.slow
def test_runs_of_killed_workers_finish(tmp_path):
    told = run_with_signals(tmp_path / "table", "KILL")
    assert len(set(told["killed"])) == 2
    assert told["me"] not in told["killed"]
    assert (told["finished"], told["problems"]) == ([1, 1], [])
    check_runs(tmp_path / "table", tmp_path)


@needs_ray
@pytest.mark.slow
def test_interrupted_table_is_resumed(tmp_path):
    told = run_with_signals(tmp_path / "table", "INT")
    assert told["stopped"] == "stopped by SIGINT with 0 of 2 runs finished; run the same command to resume"
    assert not list((tmp_path / "table").glob("runs/*/result.json"))
    assert list((tmp_path / "table").glob("runs/*/checkpoints/*"))
    told = run_with_signals(tmp_path / "table", "KILL")
    assert told["finished"] == [1, 1]
    check_runs(tmp_path / "table", tmp_path)
