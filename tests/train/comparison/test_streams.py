"""Runs in threads of one process, on a CPU without CUDA streams."""

import os
import signal
import threading

import pytest
import torch
from stopping import contents

from noiseproof.data import load
from noiseproof.train import Config, Run, RunExistsError, fit
from noiseproof.train.comparison import runs as runs_module
from noiseproof.train.comparison import streams
from noiseproof.train.comparison.runs import ComparisonStopped, ComparisonWatcher, compare
from noiseproof.train.comparison.streams import can_share, fit_each


@pytest.fixture
def sharing(monkeypatch):
    monkeypatch.setattr(runs_module, "can_share", lambda config: True)


def configs(folder, losses=("ce", "mae", "gce", "sl"), **changes):
    settings = {"epochs": 2, "noise": "symmetric(0.4)", "device": "cpu"} | changes
    return [Config(loss=loss, out=str(folder / loss), **settings) for loss in losses]


@pytest.mark.usefixtures("sharing")
def test_runs_in_threads_are_bit_identical_to_sequential_runs(tmp_path):
    threads = {}

    class Watch(ComparisonWatcher):
        def update(self, config, event, details):
            threads.setdefault(threading.get_ident(), set()).add(config.loss)

    found = compare(configs(tmp_path / "together"), jobs=3, watcher=Watch())
    assert [outcome.problem for outcome in found.outcomes] == [None] * 4
    assert len(threads) == 3
    for config in configs(tmp_path / "alone"):
        alone = fit(config)
        assert contents(alone.folder) == contents(tmp_path / "together" / config.loss)


def test_runs_on_data_in_memory_share_a_process(tmp_path, monkeypatch):
    data = load("digits")
    runs = [
        (Config(epochs=2, loss=loss, device="cpu", out=str(tmp_path / loss)), data) for loss in ("ce", "mae")
    ]
    alone = [run.result for run in fit_each(runs)]
    runs = [(config.replace(out=f"{config.out}-together"), data) for config, data in runs]
    monkeypatch.setattr(streams, "can_share", lambda config: True)
    monkeypatch.setattr(streams, "runs_that_fit", lambda config: 2)
    threads = []
    together = fit_each(runs, lambda number: threads.append(threading.get_ident()))
    assert len(set(threads)) == 2
    assert [run.result["final_test_accuracy"] for run in together] == [
        one["final_test_accuracy"] for one in alone
    ]
    with pytest.raises(RunExistsError):
        fit_each(runs)


@pytest.mark.usefixtures("sharing")
def test_failed_run_does_not_stop_other_runs(tmp_path):
    runs = configs(tmp_path, losses=("ce", "mae"))
    runs.insert(0, runs[0].replace(data="cifar10_of_nobody", out=str(tmp_path / "bad")))
    found = compare(runs, jobs=2).outcomes
    assert "cifar10_of_nobody" in found[0].problem
    assert [outcome.problem for outcome in found[1:]] == [None, None]


@pytest.mark.slow
@pytest.mark.usefixtures("sharing")
def test_interrupted_runs_save_and_resume(tmp_path):
    class Stop(ComparisonWatcher):
        def update(self, config, event, details):
            if event == "epoch":
                os.kill(os.getpid(), signal.SIGINT)
                self.update = lambda *event: None

    runs = configs(tmp_path, epochs=30)
    with pytest.raises(ComparisonStopped):
        compare(runs, jobs=2, watcher=Stop())
    assert not Run(runs[0].out).finished
    found = compare(runs, jobs=2)
    assert all(Run(config.out).finished for config in runs)
    assert not found.failed
    alone = fit(configs(tmp_path / "alone", epochs=30)[0])
    assert contents(alone.folder) == contents(tmp_path / "ce")


@pytest.mark.usefixtures("sharing")
def test_interruption_message_names_failed_runs(tmp_path):
    class Stop(ComparisonWatcher):
        def update(self, config, event, details):
            if event == "failed":
                os.kill(os.getpid(), signal.SIGTERM)

    runs = configs(tmp_path, losses=("ce",), epochs=10_000)
    runs.insert(0, runs[0].replace(data="cifar10_of_nobody", out=str(tmp_path / "bad")))
    with pytest.raises(
        ComparisonStopped, match=r"0 of 2 runs finished, 1 failed \(.*cifar10_of_nobody.*\); run"
    ):
        compare(runs, jobs=2, watcher=Stop())


def test_only_captured_runs_on_a_gpu_share_a_process(monkeypatch):
    assert not can_share(Config(device="cpu"))
    monkeypatch.setattr(streams, "pick_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(torch, "__version__", "2.11.0+cu130")
    for settings in (
        {},
        {"loop": "graph"},
        {"model": "resnet44"},
        {"method": "nal"},
        {"method": "co_teaching(noise_rate=0.4)"},
        {"mixup": 0.0, "weight_average": 0.0},
        {"model": "mlp("},
    ):
        assert can_share(Config(**settings)), settings
    for settings in (
        {"loop": "plain"},
        {"dropout": 0.2},
        {"model": "resnet44(dropout=0.2)"},
        {"model": "timm:vit_tiny_patch16_224"},
        {"optimizer": "sgd(dampening=0.5)"},
        {"mixup": 1.0},
        {"weight_average": 0.99},
        {"method": "elr_plus"},
        {"method": "divide_mix"},
    ):
        assert not can_share(Config(**settings)), settings
    monkeypatch.setattr(torch, "__version__", "2.9.1")
    assert not can_share(Config())


@pytest.mark.usefixtures("sharing")
def test_global_random_state_is_not_changed(tmp_path):
    runs = configs(tmp_path, losses=("ce", "mae"))
    runs[1] = runs[1].replace(epochs=12)
    before = torch.get_rng_state()
    compare(runs, jobs=2)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.usefixtures("sharing")
def test_error_of_the_watcher_is_raised_and_other_runs_finish(tmp_path):
    class Broken(ComparisonWatcher):
        def update(self, config, event, details):
            if config.loss == "ce":
                raise BrokenPipeError("nobody reads")

    runs = configs(tmp_path, losses=("ce", "mae"))
    with pytest.raises(BrokenPipeError, match="nobody reads"):
        compare(runs, jobs=2, watcher=Broken())
    assert Run(tmp_path / "mae").finished
