"""MLflow and Weights & Biases receive the values of metrics.jsonl; no data are sent over the network."""

from pathlib import Path

import pytest

from noiseproof.integrations.tensorboard import scalars
from noiseproof.train import Config, Interrupted, Watcher, fit

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def config(tmp_path):
    return Config(epochs=2, batch_size=256, device="cpu", out=str(tmp_path / "run"), test="none")


class StopOnce(Watcher):
    """Ctrl-C after the first epoch, once."""

    def __init__(self):
        self.asked = False

    def epoch(self, line):
        if not self.asked:
            import signal

            self.asked = True
            signal.raise_signal(signal.SIGINT)


def interrupted_and_resumed(config, watch, between=lambda: None):
    told = StopOnce()
    with pytest.raises(Interrupted):
        fit(config, watcher=watch(told))
    between()
    return fit(config, watcher=watch(told))


def test_mlflow_receives_every_metric(config, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: make test-integrations")
    from noiseproof.integrations.mlflow import MLflowWatcher

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    run = interrupted_and_resumed(config, lambda told: MLflowWatcher(config, told))
    client = mlflow.tracking.MlflowClient()
    runs = client.search_runs([client.get_experiment_by_name("Default").experiment_id])
    assert len(runs) == 1
    assert runs[0].info.status == "FINISHED"
    assert runs[0].data.params["loss"] == "ce"
    for line in run.metrics:
        for name, value in scalars(line).items():
            history = {m.step: m.value for m in client.get_metric_history(runs[0].info.run_id, name)}
            assert history[line["epoch"]] == pytest.approx(value), name


def test_wandb_receives_every_metric_offline(config, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed: make test-integrations")
    from noiseproof.integrations.wandb import WandbWatcher

    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.chdir(tmp_path)
    seen = []

    class CollectingWatcher(WandbWatcher):
        def begin(self, done, steps):
            super().begin(done, steps)
            log = self.run.log
            self.run.log = lambda values: (seen.append(values), log(values))

    run = interrupted_and_resumed(
        config,
        lambda told: CollectingWatcher(config, told, project="test", mode="offline", dir=str(tmp_path)),
        between=wandb.finish,  # as the end of a process does
    )
    assert [values["epoch"] for values in seen] == [1, 2]
    for values, line in zip(seen, run.metrics, strict=True):
        assert values == {"epoch": line["epoch"], **scalars(line)}
    written = list(Path(tmp_path).glob("wandb/offline-run-*/*.wandb"))
    assert len(written) == 2  # before and after the interruption, of one id
    assert len({path.name for path in written}) == 1
