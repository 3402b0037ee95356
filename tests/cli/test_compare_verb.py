import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from noiseproof.cli.compare import read_seeds
from noiseproof.dynamics import RunFolder


def runs_below(folder):
    return sorted(path.parent for path in folder.glob("*/result.json"))


@pytest.fixture
def command(short, tmp_path):
    return ["compare", *short, "--epochs", 1, "--jobs", 1, "--out", tmp_path / "all"]


def test_one_table_as_text_csv_markdown_and_json(shell, command, tmp_path):
    losses = ["--loss", "ce", "--loss", "gce(q=0.7)", "--loss", "sl(alpha=0.1, beta=5.0)"]
    code, out, err = shell(*command, *losses, "--seeds", 2)
    assert code == 0, err
    assert len(runs_below(tmp_path / "all")) == 6
    table = json.loads((tmp_path / "all" / "table.json").read_text())
    assert table["settings"]["noise"] == "symmetric(0.4)"
    rows = {row["run"]: row for row in table["rows"]}
    assert list(rows) == losses[1::2]
    for name, row in rows.items():
        found = [RunFolder(run["folder"]) for run in row["runs"]]
        assert [run.settings["loss"] for run in found] == [name] * 2
        finals = [run.result["final_test_accuracy"] for run in found]
        assert row["final_mean"] == pytest.approx(sum(finals) / 2)
        assert row["final_std"] == pytest.approx(abs(finals[0] - finals[1]) / 2**0.5)
        memorised = [run.result["train"]["noisy_subset"] for run in found]
        assert row["memorised_mean"] == pytest.approx(sum(memorised) / 2)
        shown = f"{100 * row['final_mean']:.1f} ± {100 * row['final_std']:.1f}"
        [line] = [line for line in out.splitlines() if f"│ {name} " in line]
        assert shown in line
        [line] = [
            line
            for line in (tmp_path / "all" / "table.md").read_text().splitlines()
            if line.startswith(f"| `{name}` |")
        ]
        assert shown in line
    with open(tmp_path / "all" / "table.csv", newline="") as file:
        for line in csv.DictReader(file):
            assert float(line["final_mean"]) == rows[line["run"]]["final_mean"]
    first, *others = rows.values()
    assert first["final_against_first"] is None
    for row in others:
        assert row["final_against_first"] == pytest.approx(row["final_mean"] - first["final_mean"])


def test_finished_runs_are_reused_and_more_can_be_added(shell, command, tmp_path):
    assert shell(*command, "--loss", "ce", "--seeds", "0,3")[0] == 0
    before = {run: (run / "result.json").stat().st_mtime_ns for run in runs_below(tmp_path / "all")}
    code, out, err = shell(*command, "--loss", "ce", "--loss", "mae", "--seeds", "0,3,4", "--json")
    assert code == 0
    assert err.splitlines()[0] == "2 of 6 runs are finished already"
    assert [row["seeds"] for row in json.loads(out)["rows"]] == [[0, 3, 4], [0, 3, 4]]
    after = {run: (run / "result.json").stat().st_mtime_ns for run in runs_below(tmp_path / "all")}
    assert len(after) == 6
    assert {run: after[run] for run in before} == before


def test_failed_run_is_reported_and_the_others_continue(shell, command):
    options = ["--lr", "1e30", "--momentum", 0, "--loss", "ce", "--loss", "1e-30*mae", "--seeds", 1]
    code, out, err = shell(*command, *options, "--epochs", 3, "--json")
    assert code == 1
    ce, mae = json.loads(out)["rows"]
    assert (ce["failed"], ce["seeds"], ce["final_mean"]) == (1, [], None)
    assert "NonFiniteError" in ce["runs"][0]["problem"]
    assert (mae["failed"], mae["seeds"]) == (0, [0])
    assert mae["final_against_first"] is None
    assert "noiseproof: ce, seed 0 failed: NonFiniteError: the " in err
    assert "Traceback" not in err


def test_validation_adds_the_selected_accuracy(shell, command):
    _, out, _ = shell(*command, "--loss", "ce", "--seeds", 1, "--validation", 0.2)
    assert "selected %" in out
    assert "selected %" not in shell(*command, "--loss", "ce", "--seeds", 1)[1]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--loss", "gcee"], "unknown loss 'gcee', did you mean 'gce'?"),
        (["--method", "nothing"], "unknown method 'nothing'"),
        (["--seeds", "0"], "between 1 and 10000 seeds"),
        (["--seeds", "a,b"], "--seeds 'a,b': give a number of seeds"),
        (["--seeds", ""], "--seeds ''"),
    ],
)
def test_errors_are_reported_before_any_run(shell, command, tmp_path, options, part):
    code, out, err = shell(*command, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert part in err
    assert not (tmp_path / "all").exists()


def test_seeds():
    assert read_seeds("3") == [0, 1, 2]
    assert read_seeds("3,") == [3]
    assert read_seeds(" 5, 2 ") == [5, 2]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        found = file.read().split()
    return [int(one) for one in found if "spawn_main" in _command(one)]


def _command(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read()
    except OSError:
        return ""


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for worker processes in /proc")
def test_killed_workers_and_signals_lose_no_runs(shell, short, tmp_path):
    """A killed worker fails its run only; SIGINT saves all runs; the last command finishes them."""
    place = tmp_path / "all"
    options = ["--epochs", "40", "--batch-size", "3", "--loss", "ce", "--seeds", "3", "--out", str(place)]
    words = ["compare", *short, *options]
    command = [sys.executable, "-m", "noiseproof.cli.main", *words, "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    started = until(lambda: len(list(place.glob("*/metrics.jsonl"))) == 2 and children(process.pid))
    assert len(started) == 2
    os.kill(started[0], signal.SIGKILL)
    told = process.stderr.readline()
    assert "failed: the worker process ended with signal SIGKILL" in told
    until(lambda: len(list(place.glob("*/metrics.jsonl"))) == 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "noiseproof: stopped by SIGINT with" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert until(lambda: not [one for one in started if os.path.exists(f"/proc/{one}")])

    code, out, err = shell(*words, "--jobs", 1, "--json")
    assert code == 0, err
    [row] = json.loads(out)["rows"]
    assert (row["seeds"], row["failed"]) == ([0, 1, 2], 0)
    for run in row["runs"]:
        assert [line["epoch"] for line in RunFolder(run["folder"]).metrics] == list(range(1, 41))


def test_captions_explain_present_columns_only(shell, command):
    code, out, err = shell(*command, "--loss", "ce", "--seeds", 1)
    assert code == 0, err
    assert "memorised: % of the wrong labels" in out
    code, out, err = shell(
        *command, "--noise", "none", "--out", f"{command[-1]}2", "--loss", "ce", "--seeds", 1
    )
    assert code == 0, err
    assert "gain: final" in out
    assert "memorised" not in out


def test_missing_test_data_is_explained(shell, command):
    code, out, err = shell(*command, "--test", "none", "--loss", "ce", "--seeds", 1)
    assert code == 0, err
    assert "no accuracy: there is no test data; name it with --test" in out
    assert "no accuracy" not in shell(*command[:-1], f"{command[-1]}2", "--loss", "ce", "--seeds", 1)[1]


def test_equal_errors_are_reported_once(shell, command):
    words = ["--model", "cnn8", "--loss", "ce", "--loss", "mae", "--quiet", "--seeds", 2]
    code, out, err = shell(*command, *words)
    assert code == 1
    assert "no accuracy" not in out
    assert err.splitlines()[0].startswith("noiseproof: ce, seed 0 and 3 more failed: ValueError: ")
    assert len(err.splitlines()) == 2
