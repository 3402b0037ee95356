"""Ray is an extra: what it does is tested where it is installed, how it is missed everywhere."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stopping import contents

from noiseproof.integrations.ray import compare_with_ray, share_of_machine
from noiseproof.train import Config, fit

SCRIPT = Path(__file__).with_name("ray_until_killed.py")
with_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"pip install 'noiseproof\[ray\]'"):
        compare_with_ray([Config(device="cpu")])


def test_what_is_finished_needs_no_cluster(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    config = Config(device="cpu", epochs=1, model="mlp(hidden=8)", out=str(tmp_path / "run"))
    fit(config)
    assert compare_with_ray([config]) == {}


def test_a_run_gets_its_share_of_a_machine(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert share_of_machine([Config(device="cpu")], None) == {"num_cpus": 1}
    assert share_of_machine([Config(device="cpu")], 2) == {"num_cpus": 4}
    assert share_of_machine([Config(device="cpu")], 100) == {"num_cpus": 1}
    with pytest.raises(ValueError, match="jobs=0 must be at least 1"):
        share_of_machine([Config(device="cpu")], 0)


def disturbed(folder, kind):
    command = [sys.executable, str(SCRIPT), str(folder), kind]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_runs(folder, tmp_path):
    """Every run ends with the bits of one that nobody disturbed."""
    runs = sorted(path.parent for path in folder.glob("runs/*/config.json"))
    assert len(runs) == 2
    for number, run in enumerate(runs):
        unbroken = tmp_path / f"unbroken {number}"
        fit(Config.load(run / "config.json").replace(out=str(unbroken)))
        assert contents(run) == contents(unbroken)


@with_ray
@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path):
    told = disturbed(tmp_path / "table", "KILL")
    assert len(set(told["killed"])) == 2
    assert told["me"] not in told["killed"]
    assert (told["finished"], told["problems"]) == ([1, 1], [])
    check_runs(tmp_path / "table", tmp_path)


@with_ray
@pytest.mark.slow
def test_a_table_that_was_stopped_goes_on(tmp_path):
    told = disturbed(tmp_path / "table", "INT")
    assert told["stopped"] == "stopped by SIGINT with 0 of 2 runs finished; run the same command to go on"
    assert not list((tmp_path / "table").glob("runs/*/result.json"))
    assert list((tmp_path / "table").glob("runs/*/checkpoints/*"))
    told = disturbed(tmp_path / "table", "KILL")
    assert told["finished"] == [1, 1]
    check_runs(tmp_path / "table", tmp_path)
