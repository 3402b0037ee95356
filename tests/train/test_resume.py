"""An interrupted and resumed run is bit-identical to an uninterrupted run."""

import json
import signal
from pathlib import Path

import pytest
import torch
from stopping import StopAt, contents

from noiseproof import methods
from noiseproof.lock import RunLock
from noiseproof.train import Interrupted, RunExistsError, RunLockedError, Watcher, fit

OFTEN = [
    {},
    {"loss": "peer(ce)", "optimizer": "adam", "lr": 0.01},
    {"dropout": 0.5, "validation": 0.25, "noise": "symmetric(0.4)", "precision": "bf16"},
    {"method": "co_teaching(gradual=2)", "validation": 0.25, "dropout": 0.5},
    {"loss": "gce(q=0.4)", "mixup": 0.5, "weight_average": 0.9, "model": "mlp(hidden=8, norm=True)"},
    {"method": "divide_mix(warmup=1, ramp=2)", "validation": 0.25},
]
RARELY = [
    {"loss": "gr(normalize='batch')", "schedule": "warm_restarts(period=2)", "clip": 1.0},
    {"iterations": 9, "epochs": None, "optimizer": "sgd(nesterov=True)", "weight_decay": 0.01},
    {"model": "mlp(hidden=8, norm=True)", "optimizer": "adamw"},
    {"method": "truncated_gce(start=2, period=1, by='validation')", "validation": 0.25},
    {"method": "d2l(k=3, start=0, window=2)", "epochs": 4, "batch_size": 30},
    {"method": "sop(lr_v=1000.0)", "epochs": 2},
    {"method": "decoupling", "optimizer": "adam", "epochs": 2},
    {"method": "elr", "balanced_batches": 2, "batch_size": 9},
    {"method": "elr_plus(ramp=2)", "epochs": 2, "model": "mlp(hidden=8, norm=True)"},
]
CASES = [(settings, False) for settings in OFTEN]
CASES += [pytest.param(settings, True, marks=pytest.mark.slow) for settings in OFTEN + RARELY]


def case_id(value):
    if isinstance(value, bool):
        return "every step" if value else "some steps"
    return " ".join(map(str, value.values())) or "plain"


@pytest.mark.parametrize(("settings", "every"), CASES, ids=case_id)
def test_run_interrupted_at_any_step_is_bit_identical(config, blobs, tmp_path, settings, every):
    """Without ``every``, each step of an epoch is tested in one of the epochs."""
    unbroken = fit(config(**settings, out=str(tmp_path / "whole")), data=blobs(wrong=15), test=blobs(seed=1))
    steps = unbroken.metrics[-1]["step"]
    apart = 1 if every else steps // unbroken.metrics[-1]["epoch"] - 1
    for place in range(1, steps + 1, apart):
        settled = config(**settings, out=str(tmp_path / f"broken {place}"))
        with pytest.raises(Interrupted):
            fit(settled, data=blobs(wrong=15), test=blobs(seed=1), watcher=StopAt(place))
        resumed = fit(settled, data=blobs(wrong=15), test=blobs(seed=1))
        assert contents(resumed.folder) == contents(unbroken.folder), place


def test_run_interrupted_several_times_is_bit_identical(config, blobs, tmp_path):
    unbroken = fit(config(out=str(tmp_path / "whole")), data=blobs())
    settled = config(checkpoint_seconds=0.0)
    for place in (2, 5, 6, 11):
        with pytest.raises(Interrupted):
            fit(settled, data=blobs(), watcher=StopAt(place))
    assert contents(fit(settled, data=blobs()).folder) == contents(unbroken.folder)


def test_crashed_run_resumes_from_the_last_checkpoint(config, blobs, tmp_path):
    class Crash(Watcher):
        def step(self, done):
            if done == 9:
                raise OSError("the cable was pulled")

    unbroken = fit(config(out=str(tmp_path / "whole")), data=blobs())
    for seconds in (0.0, 1000.0):
        settled = config(checkpoint_seconds=seconds, out=str(tmp_path / f"every {seconds}"))
        with pytest.raises(OSError, match="cable"):
            fit(settled, data=blobs(), watcher=Crash())
        assert contents(fit(settled, data=blobs()).folder) == contents(unbroken.folder)


def test_interruption_has_an_exit_code_and_names_the_step(config, blobs):
    with pytest.raises(Interrupted, match="SIGTERM after epoch 2, step 6") as stopped:
        fit(config(), data=blobs(), watcher=StopAt(6, number=signal.SIGTERM))
    assert stopped.value.exit_code == 143
    with pytest.raises(Interrupted) as stopped:
        fit(config(), data=blobs(), watcher=StopAt(7))
    assert stopped.value.exit_code == 130


def test_another_config_raises_an_error_with_the_difference(config, blobs):
    with pytest.raises(Interrupted):
        fit(config(), data=blobs(), watcher=StopAt(2))
    with pytest.raises(RunExistsError, match=r"loss: 'ce' -> 'mae'; epochs: 3 -> 4"):
        fit(config(loss="mae", epochs=4), data=blobs())
    fit(config(checkpoint_seconds=5.0), data=blobs())


def test_resuming_with_other_data_raises_an_error(config, blobs):
    with pytest.raises(Interrupted):
        fit(config(), data=blobs(), watcher=StopAt(2))
    for other in (blobs(wrong=1), blobs(seed=3), blobs(61)):
        with pytest.raises(RunExistsError, match="started with other data"):
            fit(config(), data=other)


def test_finished_run_is_not_changed(config, blobs):
    run = fit(config(), data=blobs())
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    with pytest.raises(RunExistsError, match="is finished: choose another --out"):
        fit(config(), data=blobs())
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before


def test_locked_run_raises_an_error(config, blobs, tmp_path):
    with RunLock(tmp_path / "run"), pytest.raises(RunLockedError, match="is being written by process"):
        fit(config(), data=blobs())
    assert fit(config(), data=blobs()).finished


def test_damaged_checkpoint_falls_back_to_the_previous_one(config, blobs, tmp_path):
    unbroken = fit(config(out=str(tmp_path / "whole")), data=blobs())
    settled = config(checkpoint_seconds=0.0)
    with pytest.raises(Interrupted):
        fit(settled, data=blobs(), watcher=StopAt(6))
    newest = max((tmp_path / "run/checkpoints").glob("*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="using the previous checkpoint"):
        resumed = fit(settled, data=blobs())
    assert contents(resumed.folder) == contents(unbroken.folder)


def test_finished_run_has_no_checkpoints(config, blobs):
    run = fit(config(checkpoint_seconds=0.0), data=blobs())
    left = {path.name for path in run.folder.iterdir()}
    assert left == {
        "config.json", "manifest.json", "metrics.jsonl", "record", "result.json", "model.safetensors",
        "outputs.safetensors", "lock",
    }  # fmt: skip
    assert {path.name for path in (run.folder / "record").iterdir()} == {
        "samples.safetensors",
        "epochs.safetensors",
    }


def test_config_and_manifest_describe_the_run(config, blobs):
    run = fit(config(noise="symmetric(0.5)", noise_seed=7), data=blobs())
    assert json.loads((run.folder / "config.json").read_text())["noise"] == "symmetric(0.5)"
    assert run.config == config(data="memory(name='blobs')", noise="symmetric(0.5)", noise_seed=7)
    noise = run.manifest["noise"]
    assert (noise["seed"], noise["spec"], noise["count"]) == (7, "symmetric(0.5)", 60)
    assert noise["realised_rate"] == pytest.approx(run.record.flipped.float().mean().item())
    assert run.manifest["data"]["train"]["samples"] == 60
    assert run.manifest["environment"]["torch"] == torch.__version__


def test_state_of_a_user_defined_method_is_restored(config, blobs, tmp_path, monkeypatch):
    class Counting(methods.Method):
        """Weight samples by the number of their visits, which is part of the state."""

        name = "counting"
        columns = ("visits",)

        def prepare(self, training_info):
            self.register_buffer("visits", torch.zeros(len(training_info.index)))

        def loss(self, outputs, batch, epoch):
            self.visits[batch.index] += 1
            self.seen = self.visits[batch.index]
            each = torch.nn.functional.cross_entropy(outputs[0].logits, batch.label, reduction="none")
            return (each * self.seen).mean()

        def observed(self):
            return {"visits": self.seen}

        def epoch_end(self, record):
            self.visits += record.prediction[0]

    monkeypatch.setitem(methods.METHODS, "counting", Counting)
    unbroken = fit(config(method="counting", out=str(tmp_path / "whole")), data=blobs())
    for place in (1, 4, 5, 10):
        settled = config(method="counting", out=str(tmp_path / f"broken {place}"))
        with pytest.raises(Interrupted):
            fit(settled, data=blobs(), watcher=StopAt(place))
        assert contents(fit(settled, data=blobs()).folder) == contents(unbroken.folder)
    assert set(unbroken.record.extra) == {"emphasis", "visits"}
    assert unbroken.record.extra["visits"][0].tolist() == [1.0] * 60


def truncate(path):
    path.write_bytes(path.read_bytes()[:-40])


@pytest.mark.parametrize("damage", [Path.unlink, truncate], ids=["gone", "cut"])
def test_record_with_a_missing_epoch_raises_an_error(config, blobs, damage):
    """Otherwise the rows after the gap would be read as earlier epochs."""
    settings = config(epochs=5)
    with pytest.raises(Interrupted):
        fit(settings, data=blobs(), watcher=StopAt(14))
    folder = Path(settings.out)
    damage(folder / "record/epoch-00002.safetensors")
    lines = (folder / "metrics.jsonl").read_bytes()
    with pytest.raises(RunExistsError, match="has no complete record of epoch 2: resume with --no-record"):
        fit(settings, data=blobs())
    assert (folder / "metrics.jsonl").read_bytes() == lines
    run = fit(settings.replace(record=False), data=blobs())
    assert run.record.epochs == 1
    assert len(run.metrics) == 5
