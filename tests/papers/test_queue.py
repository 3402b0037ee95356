"""The queue of all runs that are missing for cells."""

import argparse
import csv
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from noiseproof.cli.main import app
from noiseproof.papers import queue as papers_queue
from noiseproof.papers import tables
from noiseproof.papers.cells import Runs
from noiseproof.papers.plan import Changes, plan
from noiseproof.papers.results import NUMBERS, pack, read_results
from noiseproof.papers.tables import PRINTED, get

BY_HAND = (
    "gr.table6",
    "gr.table7",
    "imae.table5",
    "imae.table9",
    "sl.table3",
    "nal.table2",
    "curriculum.table4",
)
"""Tables on photos that are available on request only."""


@pytest.fixture(scope="module")
def all_queued_runs():
    return papers_queue.queued_runs()


def test_queue_contains_the_runs_of_every_runnable_cell(all_queued_runs):
    served = {(table, row, column) for one in all_queued_runs for table, row, column, _ in one.planned.cells}
    runnable = {
        (name, cell.row, cell.column)
        for name, table in PRINTED.items()
        for cell in table.cells
        if isinstance(cell.filling, Runs)
    }
    needs_data = {place for place in runnable if place[0] in BY_HAND}
    assert (len(runnable), len(needs_data)) == (776, 45)
    assert runnable - served == needs_data


def test_queued_runs_are_unique_and_priorities_come_first(all_queued_runs):
    keys = [one.key for one in all_queued_runs]
    assert len(keys) == len(set(keys))
    first, *_ = papers_queue.PRIORITIES
    part = plan(get(first.table).select(first.rows, first.columns, 1), Changes(precision="bf16"))
    assert len(part) > 1
    assert set(keys[: len(part)]) == set(part)


def test_first_seeds_are_queued_before_second_seeds(all_queued_runs):
    rest = [one for one in all_queued_runs if one.rank >= len(papers_queue.PRIORITIES)]
    assert [one.rank for one in rest] == sorted(one.rank for one in rest)
    assert len({one.rank for one in rest}) > 2


def test_runs_of_a_part_are_ordered_by_information_per_second(all_queued_runs):
    last = [one for one in all_queued_runs if one.rank == len(papers_queue.PRIORITIES)]
    worth = [one.information / one.seconds for one in last]
    assert worth == sorted(worth, reverse=True)


def test_finished_runs_are_left_out_unless_a_relabelled_run_needs_them(all_queued_runs):
    done = {one.key for one in all_queued_runs[:5]}
    left = {one.key for one in papers_queue.queued_runs(done=done)}
    seconds = {one.planned.relabel_of for one in all_queued_runs if one.planned.relabel_of}
    assert done & left == done & seconds


def test_distance_from_cross_entropy():
    table = get("gr.table3")
    near = papers_queue.distance_from_ce(table, table.cell("CCE", "symmetric 0.4 · final %"))
    far = papers_queue.distance_from_ce(table, next(c for c in table.cells if c.printed == 83.3))
    assert near is None
    assert far == pytest.approx(22.4)


def test_distance_from_quoted_cross_entropy():
    table = get("curriculum.table3")
    assert papers_queue.distance_from_ce(table, table.cell("MAE", "symmetric 0.4")) == pytest.approx(
        1.29 - 39.92
    )


def test_runs_beyond_the_time_limit_are_left_out(all_queued_runs):
    chosen = papers_queue.runs_within(all_queued_runs, 10)
    assert sum(one.seconds for one in chosen) <= 600
    assert [one.seconds for one in chosen] == sorted((one.seconds for one in chosen), reverse=True)
    assert papers_queue.runs_within(all_queued_runs, None) == all_queued_runs


SCRIPT = """
import sys
from pathlib import Path
from noiseproof.papers import queue as papers_queue, tables
from noiseproof.papers.cells import Cell, Runs, Table
from noiseproof.papers.plan import Changes
from noiseproof.train import ComparisonWatcher

out, minutes, epochs = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
settings = {"data": "digits", "model": "mlp(hidden=8)", "epochs": epochs, "checkpoint_seconds": 0.2}
cells = tuple(
    Cell(loss, "clean", "test_accuracy_%", 90.0, Runs({**settings, "loss": loss}, (0,)))
    for loss in ("ce", "mae")
)
tables.TABLES.clear()
tables.TABLES["mine.table1"] = Table("mine.table1", "Mine", cells)
papers_queue.PRIORITIES = ()
waiting = papers_queue.queued_runs(Changes())
packer = papers_queue.PackingWatcher(ComparisonWatcher(), out, out / "pack", "abc")
how = {"minutes": minutes, "jobs": 1, "device": "cpu", "watcher": packer}
problems = papers_queue.train_queue(waiting, out=out, **how)
print(papers_queue.count_finished(waiting, out), problems)
"""


def run_queue(out, minutes, epochs):
    command = [sys.executable, "-c", SCRIPT, str(out), str(minutes), str(epochs)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)  # noqa: S603


@pytest.mark.slow
def test_queue_packs_its_results(tmp_path):
    ended = run_queue(tmp_path, 5, 1)
    assert ended.stdout == "2 {}\n", ended.stderr
    found, variants = read_results([tmp_path])
    assert {result.seed for result in found.values()} == {0}
    assert variants == {Changes(epochs=1)}
    lines = list(csv.DictReader((tmp_path / "pack" / "runs.csv").read_text().splitlines()))
    assert [line["commit"] for line in lines] == ["abc", "abc"]
    assert all(0 < float(line["final"]) <= 1 for line in lines)


@pytest.mark.slow
def test_run_stopped_by_the_time_limit_is_resumed(tmp_path):
    before = epochs_after(tmp_path, 0.2, more_than=1)
    assert epochs_after(tmp_path, 0.2, more_than=before) > before


def epochs_after(folder, minutes, more_than):
    """Epochs of the first run after ``minutes``, four times as many minutes on a busy machine."""
    epochs = 0
    while epochs <= more_than and minutes < 4:
        ended = run_queue(folder, minutes, 100_000)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("0 ")
        epochs = sum(len(file.read_text().splitlines()) for file in folder.glob("runs/*ce*/metrics.jsonl"))
        minutes *= 4
    return epochs


@pytest.mark.slow
def test_killed_queue_keeps_packed_results(tmp_path, monkeypatch):
    script = SCRIPT.replace(
        "papers_queue.PRIORITIES = ()", "papers_queue.PRIORITIES = (); papers_queue.PACK_SECONDS = 0.0"
    ).replace('"loss": loss}', '"loss": loss, "epochs": 1 if loss == "ce" else 100_000}')
    command = [sys.executable, "-c", script, str(tmp_path), "5", "1"]
    running = subprocess.Popen(command)  # noqa: S603
    file = tmp_path / "pack" / "runs.csv"
    for _ in range(600):
        if file.is_file() and len(file.read_text().splitlines()) == 2:
            break
        time.sleep(0.1)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert len(read_results([tmp_path])[0]) == 1


def test_invalid_results_file_is_named_in_the_error(tmp_path):
    (tmp_path / "runs.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"runs\.csv is not a file of results: it has no column 'run'$"):
        read_results([tmp_path])
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_results([tmp_path / "nowhere"])


def test_empty_folder_has_no_results(tmp_path):
    assert pack(tmp_path, tmp_path / "pack", "") == 0
    assert read_results([tmp_path]) == ({}, set())


def test_dry_run_lists_queued_runs():
    words = ["papers", "queue", "--dry", "--minutes", "20", "--json"]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert sum(one["seconds"] for one in found) <= 1200
    assert {one["model"] for one in found} == {"cnn4", "cnn8"}, "the networks of the first priority"
    assert tables.TABLES


def script(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / f"tables/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def short_runs():
    return script("short_runs")


def test_remedies_for_lost_classes_change_one_setting_each(tmp_path, capsys):
    lost = script("lost_classes")
    found = lost.configs(8)
    assert len({lost.config_hash(config) for config in found.values()}) == 24
    for name in lost.CELLS:
        plain = found[name, "none"]
        for words in lost.REMEDIES:
            assert len(plain.differences(found[name, words])) == (words != "none"), words
    key = lost.config_hash(found["AGCE, clean (Curriculum, Table 5)", "head times 0"])
    (tmp_path / "runs.csv").write_text(f"run,final,test_class_accuracy\n{key},0.5,0.9 1.0 98.1 0.0\n")
    lost.table(argparse.Namespace(divide_by=8, results=tmp_path))
    assert capsys.readouterr().out.count("not run") == 23
    lost.table(argparse.Namespace(divide_by=8, results=tmp_path))
    assert "| 50.0, 2 lost |" in capsys.readouterr().out


def test_short_runs_fill_cells_without_results(short_runs, tmp_path):
    """A row that was run is left out; the others get one seed and an eighth of the epochs."""
    table = get("gr.table3")
    done = next(iter(plan(table.select(["CCE"], ["symmetric 0.4"], 1), Changes(precision="bf16"))))
    numbers = dict.fromkeys(NUMBERS, 0.5)
    line = {"run": done, "seed": 0, "data": "cifar10", "precision": "bf16", "epochs": "", **numbers}
    with (tmp_path / "runs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(line))
        writer.writeheader()
        writer.writerow(line)
    options = argparse.Namespace(table=["gr.table3"], model=None, divide_by=8.0, done=tmp_path)
    queued = short_runs.queue(options)
    cells = {cell[1:3] for one in queued for cell in one.planned.cells}
    assert cells == {c.place for c in table.cells} - {
        c.place for c in table.select(["CCE"], ["symmetric 0.4"]).cells
    }
    assert {(one.planned.config.epochs, one.planned.config.seed) for one in queued} == {(32, 0)}


def test_parts_of_short_runs_keep_both_runs_of_a_relabelled_cell(short_runs, tmp_path):
    (tmp_path / "runs.csv").write_text("run\n")
    queued = short_runs.queue(
        argparse.Namespace(table=["gr.table11"], model=None, divide_by=8.0, done=tmp_path)
    )
    parts = [short_runs.part_of(queued, f"{number}/3") for number in (1, 2, 3)]
    assert sorted(one.key for part in parts for one in part) == sorted(one.key for one in queued)
    for part in parts:
        keys = {one.key for one in part}
        assert {one.planned.relabel_of for one in part} - {None} <= keys
