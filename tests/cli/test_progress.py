import io
import re
import sys

import pytest

from noiseproof.cli import comparison_progress, progress
from noiseproof.cli.comparison_progress import ComparisonBar, ComparisonLines, comparison_watcher
from noiseproof.cli.progress import ProgressBar, ProgressLines, epoch_words, run_watcher, time_words
from noiseproof.train import ComparisonWatcher, Config, Watcher

LINE = {"epoch": 2, "test_accuracy": 0.5, "corrupted_accuracy": 0.25, "validation_accuracy": None}


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    monkeypatch.setattr(comparison_progress, "time", found)
    return found


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_time_words():
    assert epoch_words(Config(epochs=7), LINE) == "epoch 2/7: test 50.0%, training 25.0%"
    assert epoch_words(Config(iterations=70), LINE) == "epoch 2: test 50.0%, training 25.0%"
    assert [time_words(s) for s in (0.2, 59.4, 61, 3599, 3661)] == [
        "0 s",
        "59 s",
        "1 min 1 s",
        "59 min 59 s",
        "1 h 1 min",
    ]


def test_lines_for_first_and_last_epoch_and_every_few_seconds(clock, capfd):
    lines = ProgressLines(Config(epochs=100))
    lines.begin(0, 1000)
    for epoch in range(1, 101):
        clock.now += 1
        lines.step(10 * epoch)
        lines.epoch(LINE | {"epoch": epoch})
    told = capfd.readouterr().err.splitlines()
    assert [int(re.match(r"epoch (\d+)/100", line)[1]) for line in told] == [1, *range(6, 100, 5), 100]
    assert told[0].endswith("1 min 39 s left")
    assert told[-1].endswith("0 s left")


def test_remaining_time_of_a_resumed_run(clock, capfd):
    lines = ProgressLines(Config(epochs=100))
    lines.begin(500, 1000)
    clock.now += 10
    lines.step(600)
    lines.epoch(LINE)
    told = capfd.readouterr().err.splitlines()
    assert told[0] == "resuming at epoch 51"
    assert told[1].endswith("40 s left")


def test_watcher_depends_on_the_terminal(monkeypatch):
    assert type(run_watcher(Config(), quiet=True)) is Watcher
    assert type(comparison_watcher(quiet=True)) is ComparisonWatcher
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert type(run_watcher(Config())) is ProgressLines
    assert type(comparison_watcher()) is ComparisonLines
    monkeypatch.setattr(sys, "stderr", Terminal())
    shown = run_watcher(Config())
    assert type(shown) is ProgressBar
    shown.close()
    assert type(comparison_watcher()) is ComparisonBar


def test_bar_shows_epoch_accuracy_and_share(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    shown = run_watcher(Config(epochs=7))
    shown.begin(0, 70)
    shown.step(20)
    shown.epoch(LINE)
    shown.progress.refresh()
    shown.close()
    written = sys.stderr.getvalue()
    assert "epoch 2/7: test 50.0%, training 25.0%" in written
    assert "29%" in written


def test_run_names_differ_and_counts_restart(capfd):
    runs = [Config(), Config(noise="pair(0.2)"), Config(noise="pair(0.2)", loss="mae")]
    shown = ComparisonLines()
    shown.begin(runs, 0)
    for run in runs:
        shown.update(run, "finished", None)
    shown.begin(runs[:1], 0)
    shown.update(runs[0], "finished", None)
    names = [line.partition(":")[0] for line in capfd.readouterr().err.splitlines()]
    assert names[:2] == ["1/3 ce, labels as given, seed 0", "2/3 ce, pair(0.2), seed 0"]
    assert names[2:] == ["3/3 mae, pair(0.2), seed 0", "1/1 ce, seed 0"]


@pytest.mark.parametrize("kind", [ComparisonLines, ComparisonBar])
def test_progress_of_several_runs_counts_steps(clock, monkeypatch, kind):
    monkeypatch.setattr(sys, "stderr", Terminal())
    runs = [Config(seed=seed) for seed in range(4)]
    shown = kind()
    shown.begin(runs, 1)
    shown.update(runs[1], "begin", (0, 10))
    shown.update(runs[2], "begin", (5, 10))
    shown.update(runs[1], "share", 0.25)
    assert shown.done == 1 + 0.25 + 0.5
    clock.now += 30
    shown.update(runs[1], "epoch", LINE)
    shown.update(runs[1], "finished", None)
    assert shown.done == 2.5
    assert shown.remaining_time() == "30 s"
    assert shown.ending(runs[1], "finished", None) == "2/4 ce, seed 1: final test 50.0%, 30 s left"
    shown.update(runs[2], "failed", "a\nb")
    assert shown.done == 3
    shown.end()
    assert "3/4 ce, seed 2: failed: a b" in sys.stderr.getvalue()
