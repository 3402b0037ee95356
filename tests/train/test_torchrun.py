"""Several processes that train one run compute the same as a single process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
import several_processes
import torch
from safetensors.torch import load_file, save_file
from stopping import StopAt, contents
from torch import nn

from noiseproof import auto, methods, models
from noiseproof.data import LabelledData
from noiseproof.devices.distributed import rank_and_count
from noiseproof.dynamics.record import read_tensors
from noiseproof.integrations.tensorboard import scalars
from noiseproof.methods import OneProcessError
from noiseproof.train import Config, Interrupted, Run, compare, fit
from noiseproof.train.run_writer import RunWriter

CLOSE = 1e-10
SPECS = {
    "nal": "nal(start=2, period=1)",
    "elr": "elr",
    "selc": "selc(start=2)",
    "bootstrap_soft": "bootstrap_soft",
    "bootstrap_hard": "bootstrap_hard",
    "joint": "joint(start=1, average=2)",
    "forward": "forward(transition='symmetric(0.3)')",
    "backward": "backward(transition='symmetric(0.3)')",
    "s_adaptation": "s_adaptation",
    "gls_sl": "gls_sl",
    "truncated_gce": "truncated_gce(start=2, period=1, by='validation')",
    "self_paced": "self_paced(warmup=1)",
    "mentornet_pd": "mentornet_pd(burn_in=0.25)",
    "d2l": "d2l(start=0, window=2)",
    "sop": "sop",
    "decoupling": "decoupling",
    "co_teaching": "co_teaching",
    "elr_plus": "elr_plus",
    "divide_mix": "divide_mix(warmup=1)",
}
"""Specs with which every method reaches all its phases within 20 steps."""
SETTINGS = {name: {"method": spec} for name, spec in SPECS.items()} | {
    "gr": {"loss": "gr"},
    "mixup": {"loss": "imae", "mixup": 1.0},
    "average": {"loss": "2*gce + mae", "weight_average": 0.9, "clip": 1.0, "precision": "bf16"},
    "adam": {"method": "nal(start=2, period=1)", "optimizer": "adam", "weight_decay": 1e-3},
}


class Double(nn.Module):
    """A network in fp64."""

    def __init__(self, seed):
        super().__init__()
        self.network = models.get("mlp(hidden=8)", num_classes=3, in_channels=4, seed=seed).double()

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return self.network(x.double())


def network(networks):
    made = [Double(seed) for seed in range(networks)]
    return made[0] if networks == 1 else models.Ensemble(*made)


def blobs(count=150, seed=0):
    generator = torch.Generator().manual_seed(seed)
    clean = torch.arange(count) % 3
    inputs = 2 * torch.eye(3, 4)[clean] + torch.randn(count, 4, generator=generator)
    label = torch.where(torch.arange(count) % 5 == 0, (clean + 1) % 3, clean)
    return LabelledData(inputs, label, clean_label=clean, name="blobs")


def config(folder, **changes):
    settings = {"batch_size": 24, "epochs": 4, "lr": 0.1, "device": "cpu", "validation": 0.2}
    return Config(**(settings | {"out": str(folder)} | changes))


def train(folder, names):
    """Train 20 steps with each of the settings; each process saves the state of its method."""
    torch.set_num_threads(1)
    finish = RunWriter.finish

    def keep(self, session, task):
        state = {key: values.contiguous() for key, values in session.method.state_dict().items()}
        save_file(state, folder / f"{self.folder.name} {rank_and_count()[0]}.safetensors")
        finish(self, session, task)

    with mock.patch.object(RunWriter, "finish", keep):
        for name in names:
            settings = config(folder / name, **SETTINGS[name])
            networks = methods.get(settings.method, loss=settings.loss).networks
            fit(settings, data=blobs(), test=blobs(60, seed=1), model=network(networks))


def stop_and_resume(folder):
    """Train with dropout and batch norm, uninterrupted and interrupted; only rank 0 calls the watcher."""
    for name, stops in {"whole": [()], "resumed": [(3,), (9, 14), ()]}.items():
        settings = config(folder / name, model="mlp(hidden=8, norm=True)", dropout=0.3, method="elr_plus")
        for steps in stops:
            try:
                fit(settings, data=blobs(), watcher=StopAt(*steps))
            except Interrupted:
                assert steps


def work(folder):
    train(folder, ["gr", "nal"])
    stop_and_resume(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of two processes, and in ``alone`` the runs of one process."""
    found = tmp_path_factory.mktemp("torchrun")
    train(found / "alone", ["gr", "nal"])
    several_processes.run(work, found)
    return found


def check(folder, name):
    one, several = Run(folder / "alone" / name), Run(folder / name)
    assert several.finished
    assert several.result["steps"] == 20
    for file in ("model.safetensors", "best.safetensors"):
        alone, together = (read_tensors(run.folder / file)[0] for run in (one, several))
        for key, weight in alone.items():
            torch.testing.assert_close(together[key], weight, atol=CLOSE, rtol=0, msg=f"{name} {key}")
            assert weight.dtype == torch.float64
    for rank in (0, 1):
        alone, method = (
            load_file(where / f"{name} {part}.safetensors")
            for where, part in ((folder / "alone", 0), (folder, rank))
        )
        assert all(torch.equal(method[key], values) for key, values in alone.items()), f"{name} of {rank}"
    for key, values in one.outputs.items():
        torch.testing.assert_close(several.outputs[key], values, atol=1e-6, rtol=1e-6, msg=f"{name} {key}")
    assert torch.equal(several.record.index, one.record.index)
    assert several.record.index.unique().numel() == len(several.record.index) == 120
    columns = {"margin": lambda r: r.margin, "prediction": lambda r: r.prediction}
    columns |= {key: lambda r, key=key: r.extra[key] for key in one.record.extra}
    for key, column in columns.items():
        torch.testing.assert_close(column(several.record), column(one.record), msg=f"{name} {key}")
    for line, wanted in zip(several.metrics, one.metrics, strict=True):
        del line["seconds"], wanted["seconds"]
        assert scalars(line) == pytest.approx(scalars(wanted), rel=1e-6), name


@pytest.mark.parametrize("name", ["gr", "nal"])
def test_two_processes_equal_one(folder, name):
    check(folder, name)


def test_two_processes_resume_bit_identically(folder):
    assert contents(folder / "resumed") == contents(folder / "whole")


@pytest.mark.slow
def test_two_processes_equal_one_for_every_method(tmp_path):
    assert set(SPECS) == set(methods.METHODS)
    train(tmp_path / "alone", list(SETTINGS))
    several_processes.run(train, tmp_path, list(SETTINGS))
    for name in SETTINGS:
        check(tmp_path, name)


def test_comparisons_and_recipes_in_several_processes_raise_an_error(tmp_path, monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    words = "a comparison cannot be divided among processes, and this is process 1 of 2"
    with pytest.raises(OneProcessError, match=words):
        compare([config(tmp_path / "run", data="digits")], jobs=1)
    with pytest.raises(OneProcessError, match="a recipe or a choice of the loss"):
        auto.fit(config(tmp_path / "run", validation=0.0), data=blobs())
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert fit(config(tmp_path / "run", epochs=1), data=blobs()).finished


def fit_with_different_arguments(folder, other):
    rank, _ = rank_and_count()
    mine = config(folder, seed=rank) if other == "settings" else config(folder)
    fit(mine, data=blobs(seed=rank if other == "data" else 0))


@pytest.mark.parametrize("other", ["settings", "data"])
def test_different_arguments_of_processes_raise_an_error(tmp_path, other):
    with pytest.raises(Exception, match=f"process 1 of 2 has other {other} than process 0: start all"):
        several_processes.run(fit_with_different_arguments, tmp_path / "run", other)


def fit_with_small_batches(folder):
    """Train with batch norm on batches of 3 rows, which 2 processes do not divide."""
    fit(config(folder, model="mlp(hidden=8, norm=True)", batch_size=3, epochs=1), data=blobs(30))


def test_small_batches_are_not_divided(tmp_path):
    fit_with_small_batches(tmp_path / "one")
    several_processes.run(fit_with_small_batches, tmp_path / "two")
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def start(folder, **changes):
    settings = {"noise": "symmetric(0.4)", "loss": "gce", "epochs": 40, "device": "cpu", "out": folder}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in (settings | changes).items()]
    command = [*TORCHRUN, "-m", "noiseproof", "train", "--model=mlp(norm=True)", *options, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603


def child(process, rank):
    """The process id of that rank."""
    for number in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        if f"RANK={rank}" in Path(f"/proc/{number}/environ").read_text().split("\0"):
            return int(number)
    raise AssertionError(rank)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_torchrun_writes_once_and_resumes_after_a_kill(tmp_path):
    """Rank 0 writes and prints; if one process is killed, all end; the resumed run is bit-identical."""
    unbroken = start(tmp_path / "unbroken")
    out, _ = unbroken.communicate(timeout=300)
    assert unbroken.returncode == 0
    assert json.loads(out)["steps"] == 440, "one process prints one result"
    for number in (signal.SIGTERM, signal.SIGKILL):
        folder = tmp_path / number.name
        stopped = start(folder, checkpoint_seconds=0.1)
        while not (folder / "checkpoints").is_dir():
            assert stopped.poll() is None
            time.sleep(0.05)
        os.kill(child(stopped, 1), number)
        out, err = stopped.communicate(timeout=60)
        assert stopped.returncode != 0
        assert not out
        (line,) = [line for line in err.splitlines() if line.startswith("noiseproof: ")]
        words = "another process of this run has ended" if number == signal.SIGKILL else "stopped by SIGTERM"
        assert words in line
    start(folder).communicate(timeout=300)
    assert contents(folder) == contents(tmp_path / "unbroken")
