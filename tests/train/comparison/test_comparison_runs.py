import os
import signal

import numpy as np
import pytest
import torch

from noiseproof.devices.device import cores
from noiseproof.lock import RunLock
from noiseproof.train import (
    Comparison,
    ComparisonStopped,
    ComparisonWatcher,
    Config,
    Run,
    RunExistsError,
    compare,
    fit,
    grid,
)
from noiseproof.train.comparison.runs import default_jobs


@pytest.fixture
def base(tmp_path):
    random = np.random.default_rng(0)
    label = np.arange(60) % 3
    inputs = (3 * np.eye(3, 4)[label] + 0.3 * random.normal(size=(60, 4))).astype(np.float32)
    np.savez(tmp_path / "p.npz", x_train=inputs, y_train=label, x_test=inputs[:9], y_test=label[:9])
    settings = {"model": "mlp(hidden=8)", "epochs": 2, "batch_size": 16, "device": "cpu"}
    return Config(data=f'arrays(path="{tmp_path / "p.npz"}")', **settings)


class EventCollector(ComparisonWatcher):
    def __init__(self, stop_at=None):
        self.events, self.kept, self.stop_at = [], None, stop_at

    def begin(self, configs, kept):
        self.kept = kept

    def update(self, config, event, details):
        self.events.append((config.loss, config.seed, event, details))
        if self.stop_at == (config.seed, event):
            os.kill(os.getpid(), signal.SIGTERM)


def weights(folder):
    return {name: value.numpy().tobytes() for name, value in Run(folder).load_model().state_dict().items()}


@pytest.mark.slow
def test_two_workers_are_bit_identical_to_one_process(base, tmp_path):
    """The weights are bit-identical, and the watcher receives the events of every run."""
    here = grid(base, losses=["ce", "mae"], seeds=2, out=tmp_path / "here")
    there = grid(base, losses=["ce", "mae"], seeds=2, out=tmp_path / "there")
    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, cores() // 2))
    try:
        one = compare(here, jobs=1)
    finally:
        torch.set_num_threads(threads)
    notes = EventCollector()
    two = compare(there, jobs=2, watcher=notes)
    assert isinstance(two, Comparison)
    assert not two.failed
    assert [row.name for row in two.rows] == ["ce", "mae"]
    for first, second in zip(one.outcomes, two.outcomes, strict=True):
        assert weights(first.folder) == weights(second.folder)
        assert first.number("final") == second.number("final") is not None
        mine = [
            (event, d)
            for loss, seed, event, d in notes.events
            if (loss, seed) == (second.config.loss, second.config.seed)
        ]
        words = [event for event, _ in mine if event != "share"]
        assert words == ["begin", "epoch", "epoch", "finished"]
        assert mine[0] == ("begin", (0, 8))


def test_finished_runs_are_not_trained_again(base, tmp_path):
    runs = grid(base, losses=["ce"], seeds=2, out=tmp_path / "all")
    fit(runs[0])
    notes = EventCollector()
    found = compare(runs, jobs=1, watcher=notes)
    assert notes.kept == 1
    assert {seed for _, seed, _, _ in notes.events} == {1}
    assert found.rows[0].seeds == [0, 1]


def test_finished_runs_on_changed_labels_raise_an_error(base, tmp_path):
    runs = grid(base, losses=["ce", "mae"], seeds=1, out=tmp_path / "all")
    compare(runs[:1], jobs=1)
    with np.load(tmp_path / "p.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "p.npz", **{**arrays, "y_train": np.roll(arrays["y_train"], 1)})
    for again in (runs, runs[:1]):
        with pytest.raises(
            RunExistsError, match="other data: the same settings now give other samples or labels"
        ):
            compare(again, jobs=1)
    assert not (tmp_path / "all" / runs[1].out).exists()
    (tmp_path / "p.npz").unlink()
    assert compare(runs[:1], jobs=1).rows[0].seeds == [0], "finished runs do not need the data"


def test_folder_of_another_run_raises_an_error_before_training(base, tmp_path):
    runs = [base.replace(out=str(tmp_path / "a")), base.replace(out=str(tmp_path / "b"), seed=1)]
    fit(runs[1].replace(lr=0.5))
    with pytest.raises(RunExistsError, match=r"lr: 0\.5 -> 0\.01"):
        compare(runs, jobs=1)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(("name", "content"), [("config.json", "{bad"), ("result.json", "")])
def test_damaged_folder_does_not_stop_other_runs(base, tmp_path, name, content):
    runs = grid(base, losses=["ce"], seeds=3, out=tmp_path / "all")
    damaged = fit(runs[0]).folder / name
    fit(runs[1])
    damaged.write_text(content)
    notes = EventCollector()
    found = compare(runs, jobs=1, watcher=notes)
    assert notes.kept == 1
    assert found.rows[0].seeds == [1, 2]
    [failed] = found.failed
    assert failed.config.seed == 0
    assert str(damaged) in failed.problem
    assert "remove the folder to train it again" in failed.problem
    assert (0, "failed", failed.problem) in [event[1:] for event in notes.events]


def test_invalid_arguments_raise_an_error(base, tmp_path):
    with pytest.raises(ValueError, match="nothing to compare"):
        compare([])
    with pytest.raises(TypeError, match="got 'digits': write compare"):
        compare(["digits"])
    with pytest.raises(TypeError, match=r"takes a list of Configs, such as grid\(...\), got a Config"):
        compare(base)
    same = base.replace(out=str(tmp_path / "a"))
    with pytest.raises(ValueError, match="the same folder"):
        compare([same, same.replace(seed=1)])
    with pytest.raises(ValueError, match="jobs=0 must be at least 1"):
        compare([same], jobs=0)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_failed_run_does_not_stop_other_runs(base, tmp_path, jobs):
    runs = grid(base, losses=["ce"], seeds=3, out=tmp_path / "all")
    runs[1] = runs[1].replace(weights=str(tmp_path / "nowhere.safetensors"))
    notes = EventCollector()
    found = compare(runs, jobs=jobs, watcher=notes)
    assert [one.config.seed for one in found.failed] == [1]
    assert "nowhere.safetensors" in found.failed[0].problem
    assert sorted(seed for _, seed, event, _ in notes.events if event == "finished") == [0, 2]
    assert sum(len(row.seeds) for row in found.rows) == 2


@pytest.mark.slow
def test_traceback_of_a_failure_is_kept_until_the_run_finishes(base, tmp_path):
    run = base.replace(lr=1e38, out=str(tmp_path / "run"))
    assert "NonFiniteError" in compare([run]).failed[0].problem
    failure = tmp_path / "run" / "failure.txt"
    assert "in check_now" in failure.read_text()
    (tmp_path / "sound").mkdir()
    moved = failure.rename(tmp_path / "sound" / "failure.txt")
    assert not compare([base.replace(out=str(tmp_path / "sound"))]).failed
    assert not moved.exists()


def test_interrupted_comparison_is_resumed(base, tmp_path):
    runs = grid(base, losses=["ce"], seeds=3, out=tmp_path / "all")
    with pytest.raises(ComparisonStopped, match="SIGTERM with 1 of 3 runs finished") as stopped:
        compare(runs, jobs=1, watcher=EventCollector(stop_at=(1, "begin")))
    assert stopped.value.exit_code == 143
    notes = EventCollector()
    assert compare(runs, jobs=1, watcher=notes).rows[0].seeds == [0, 1, 2]
    starts = {seed: details for _, seed, event, details in notes.events if event == "begin"}
    assert list(starts) == [1, 2]
    assert starts[1][0] == 1
    whole = fit(runs[1].replace(out=str(tmp_path / "whole")))
    assert weights(runs[1].out) == weights(whole.folder)


def test_default_number_of_jobs(monkeypatch):
    assert default_jobs([Config(device="cpu")]) == cores() >= 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (20 << 30, 24 << 30))
    assert default_jobs([Config(), Config(loss="mae")]) == 3
    assert default_jobs([Config(), Config(loop="plain")]) == 1
    assert default_jobs([Config(dropout=0.5)]) == 1
    assert default_jobs([Config(model="timm:resnet18")]) == 1


def test_run_finished_by_another_process_is_not_failed(base, tmp_path):
    """The watcher acts as another process that locks the first run and finishes it later."""
    runs = grid(base, losses=["ce", "mae"], seeds=1, out=tmp_path / "all")

    class Other(EventCollector):
        def update(self, config, event, details):
            super().update(config, event, details)
            if config.loss == "mae" and event == "begin":
                lock.__exit__()
                fit(runs[0])

    lock, other = RunLock(runs[0].out), Other()
    with lock:
        found = compare(runs, jobs=1, watcher=other)
    assert [event for loss, _, event, _ in other.events if loss == "ce"] == ["failed"]
    assert found.failed == []
    assert [row.seeds for row in found.rows] == [[0], [0]]
