"""The pages say of our runs what the files of the runs say."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from noiseproof.papers import get
from noiseproof.papers.plan import plan
from noiseproof.papers.plan_words import to_markdown

HOME = Path(__file__).parents[2]
EVIDENCE = HOME / "tables" / "first_evidence"
PAGE = (EVIDENCE / "README.md").read_text(encoding="utf-8")
LINE = re.compile(r"^\| (\w+) \| `(.+)` \| (.+) \|$", re.MULTILINE)


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FINISHED = [run for run in read(EVIDENCE / "results/a/runs.csv") if run["state"] == "finished"]
RUNS = {(run["noise"], run["loss"]): run for run in FINISHED}


def ours(loss):
    """Accuracy of the last epoch and snr at symmetric 0.4."""
    run = RUNS["symmetric(0.4)", loss]
    return 100 * float(run["final_test_accuracy"]), float(run["snr"])


def printed(row):
    """Accuracy and snr at symmetric 0.4."""
    columns = ("clean · test %", "symmetric 0.4 · diff", "symmetric 0.4 · snr")
    clean, diff, snr = (get("curriculum.table5").cell(row, column).printed for column in columns)
    return clean + diff, snr


@pytest.mark.parametrize(("row", "loss"), [("SCE", "sce(q=0.95)"), ("GCE", "gce(q=0.4)")])
def test_e29_sce_and_gce_meet_the_printed_numbers_without_the_unit_maximum(row, loss):
    accuracy, snr = printed(row)
    without, its_snr = ours(loss)
    assert without == pytest.approx(accuracy, abs=1)
    assert its_snr == pytest.approx(snr, abs=0.02)
    unit, its_snr = ours(f"unit_max({loss})")
    assert accuracy - unit > 4
    assert snr - its_snr > 0.06


def lines(heading):
    """Cells of the tables under a heading of the page: row, loss, numbers."""
    part = PAGE.split(f"### {heading}\n")[1].split("\n#")[0]
    return [(row, loss, numbers.split(" | ")) for row, loss, numbers in LINE.findall(part)]


def classes_at_zero(run):
    return [float(value) for value in run["test_class_accuracy"].split()].count(0)


def in_words(run, *middle):
    last, best = (f"{100 * float(run[name]):.2f}" for name in ("final_test_accuracy", "best_test_accuracy"))
    return [last, best, *middle, str(classes_at_zero(run))]


def test_numbers_of_the_page_under_noise_are_those_of_the_runs():
    found = lines("Symmetric 0.4")
    assert {loss for _, loss, _ in found} == {loss for noise, loss in RUNS if noise}
    for row, loss, (accuracy, *numbers) in found:
        run, (wanted, snr) = RUNS["symmetric(0.4)", loss], printed(row)
        assert accuracy == f"{wanted:.2f}"
        assert numbers == in_words(run, f"{snr:.2f}", f"{float(run['snr']):.3f}")


def test_numbers_of_the_page_with_clean_labels_are_those_of_the_runs():
    found = lines("Clean labels")
    assert [row for row, *_ in found] == get("curriculum.table5").rows
    for row, loss, (accuracy, *numbers) in found:
        assert accuracy == f"{get('curriculum.table5').cell(row, 'clean · test %').printed:.2f}"
        assert numbers == in_words(RUNS["", loss])


@pytest.mark.parametrize(
    ("name", "seeds", "words"),
    [("curriculum.table5", 5, "human 0.4"), ("questions.readings", 1, "`questions.readings`)")],
)
def test_the_list_and_the_counts_of_the_page_are_those_of_the_plan(name, seeds, words):
    table = get(name).select([], ["clean", "symmetric 0.4", "human 0.4"], seeds=seeds)
    assert to_markdown(table) in (EVIDENCE / "cells.md").read_text(encoding="utf-8")
    finished = sum(run["cells"].startswith(name) for run in FINISHED)
    assert f"{words} | {len(plan(table))} | {finished} | 0 |" in PAGE


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


def test_the_queue_holds_every_run_of_the_list_once_the_most_telling_first(tmp_path):
    command = [sys.executable, str(EVIDENCE / "run.py"), str(tmp_path / "out"), "--dry"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603
    assert len(told) == len({line.split()[0] for line in told}) == 165
    assert not (tmp_path / "out").exists()
    left = ["--without", str(EVIDENCE / "results/a/runs.csv"), "--most", "2"]
    done = {run["run"] for run in FINISHED}
    found = subprocess.run([*command, *left], check=True, capture_output=True, text=True).stdout  # noqa: S603
    assert found.splitlines() == [line for line in told if line.split()[0] not in done][:2]
