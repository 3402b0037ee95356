"""MLflow: the settings and metrics of a run. Needs the extra ``mlflow``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..dynamics import RunFolder
from ..train import Config, Watcher
from ..train.config import run_folder
from .tensorboard import scalars

try:
    import mlflow  # type: ignore[import-not-found, import-untyped]
except ImportError as problem:
    raise ImportError("mlflow is not installed: pip install 'noiseproof[mlflow]'") from problem

TAG = "noiseproof.folder"


class MLflowWatcher(Watcher):
    """Logs the settings of a run and the metrics of every epoch; calls are forwarded to another watcher.

    A resumed run continues the MLflow run of its folder. MLflow reads its destination from its own variables,
    such as MLFLOW_TRACKING_URI; ``mlflow.set_experiment`` selects the experiment.

    Example::

        config = Config(loss="gce", out="runs/mine")
        fit(config, watcher=MLflowWatcher(config))
    """

    def __init__(self, config: Config, then: Watcher | None = None) -> None:
        self.config, self.then = config, then or Watcher()
        self.folder = Path(run_folder(config)).resolve()
        self.client, self.run_id = mlflow.tracking.MlflowClient(), ""

    def begin(self, done: int, steps: int) -> None:
        experiment = _experiment(self.client)
        found = self.client.search_runs([experiment], f"tags.`{TAG}` = '{self.folder}'", max_results=1)
        if found and done:
            self.run_id = found[0].info.run_id
            self.client.update_run(self.run_id, "RUNNING")
        else:
            made = self.client.create_run(experiment, tags={TAG: str(self.folder)}, run_name=self.folder.name)
            self.run_id = made.info.run_id
            for name, value in self.config.to_dict().items():
                if value is not None:
                    self.client.log_param(self.run_id, name, value)
        self.then.begin(done, steps)

    def step(self, done: int) -> None:
        self.then.step(done)

    def epoch(self, line: dict[str, Any]) -> None:
        for name, value in scalars(line).items():
            self.client.log_metric(self.run_id, name, value, step=line["epoch"])
        self.then.epoch(line)

    def end(self) -> None:
        result = RunFolder(self.folder).result or {}
        for name, value in scalars({n: v for n, v in result.items() if not isinstance(v, dict)}).items():
            self.client.log_metric(self.run_id, f"result/{name}", value)
        self.client.set_terminated(self.run_id)
        self.then.end()


def _experiment(client: Any) -> str:
    """The experiment of the user, or the default one."""
    active = mlflow.active_run()
    if active is not None:
        return str(active.info.experiment_id)
    return str(mlflow.tracking.fluent._get_experiment_id())
