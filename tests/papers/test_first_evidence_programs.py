"""What the programs of tables/first_evidence run and write down."""

import json
import subprocess
import sys

import pytest
from evidence_runs import EVIDENCE
from run import finished
from run import read_csv as read


def test_runs_are_collected_in_every_state(tmp_path):
    """Finished, stopped on the way, and never begun."""
    config = dict.fromkeys(("data", "noise", "model", "loss", "method", "precision", "iterations"))
    run = {"config": {**config, "seed": 0, "epochs": 2}, "cells": [["t", "row", "column", "run"]]}
    names = ("ended", "stopped", "waiting")
    runs = {name: {**run, "folder": f"runs/{name}"} for name in names}
    (tmp_path / "manifest.json").write_text(json.dumps({"runs": runs}))
    for name, epochs in (("ended", 2), ("stopped", 1)):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        entries = [{"epoch": n + 1, "test_class_accuracy": [0.0, n / 4]} for n in range(epochs)]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    (tmp_path / "runs/ended/result.json").write_text(json.dumps({"final_test_accuracy": 0.125, "epochs": 2}))
    command = [sys.executable, str(EVIDENCE / "collect.py"), str(tmp_path), str(tmp_path / "csv"), "abc"]
    subprocess.run(command, check=True)  # noqa: S603
    found = {line["run"]: line for line in read(tmp_path / "csv/runs.csv")}
    assert [found[name]["state"] for name in names] == ["finished", "unfinished", "not begun"]
    assert [found[name]["test_class_accuracy"] for name in names] == ["0.0 25.0", "0.0 0.0", ""]
    assert found["ended"]["final_test_accuracy"] == "0.125"
    assert [line["run"] for line in read(tmp_path / "csv/epochs.csv")] == ["ended", "ended", "stopped"]


@pytest.mark.slow
def test_the_queue_holds_every_run_of_the_list_once_the_most_telling_first(tmp_path):
    command = [sys.executable, str(EVIDENCE / "run.py"), str(tmp_path / "out"), "--dry"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603
    assert len(told) == len({line.split()[0] for line in told}) == 165
    assert not (tmp_path / "out").exists()
    files = sorted(EVIDENCE.glob("results/*/runs.csv"))
    done = finished(files)
    known = [word for file in files for word in ("--without", str(file))]
    left = [*known, "--model", "resnet20", "--most", "2"]
    found = subprocess.run([*command, *left], check=True, capture_output=True, text=True).stdout  # noqa: S603
    lines = [line for line in told if line.split()[0] not in done and line.split()[1] == "resnet20"]
    assert found.splitlines() == lines[:2]
