"""Weights & Biases: the settings and metrics of a run. Needs the extra ``wandb``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..dynamics import RunFolder
from ..train import Config, Watcher
from ..train.config import run_folder
from .tensorboard import scalars

try:
    import wandb  # type: ignore[import-not-found, import-untyped]
except ImportError as problem:
    raise ImportError("wandb is not installed: pip install 'noiseproof[wandb]'") from problem


class WandbWatcher(Watcher):
    """Logs the settings of a run and the metrics of every epoch; calls are forwarded to another watcher.

    A resumed run continues the W&B run of its folder. ``options`` are passed to ``wandb.init``; with
    ``mode="offline"`` nothing is sent, and ``wandb sync`` uploads it later.

    Example::

        config = Config(loss="gce", out="runs/mine")
        fit(config, watcher=WandbWatcher(config, project="labels", mode="offline"))
    """

    def __init__(self, config: Config, then: Watcher | None = None, **options: Any) -> None:
        self.config, self.then, self.options = config, then or Watcher(), options
        self.folder = Path(run_folder(config)).resolve()
        self.run: Any = None

    def begin(self, done: int, steps: int) -> None:
        number = hashlib.sha256(str(self.folder).encode()).hexdigest()[:16]
        usual = {"name": self.folder.name, "id": number, "resume": "allow", "config": self.config.to_dict()}
        self.run = wandb.init(**usual | self.options)
        self.run.define_metric("epoch")
        self.run.define_metric("*", step_metric="epoch")
        self.then.begin(done, steps)

    def step(self, done: int) -> None:
        self.then.step(done)

    def epoch(self, line: dict[str, Any]) -> None:
        self.run.log({"epoch": line["epoch"], **scalars(line)})
        self.then.epoch(line)

    def end(self) -> None:
        result = RunFolder(self.folder).result or {}
        self.run.summary.update({f"result/{name}": value for name, value in result.items()})
        self.run.finish()
        self.then.end()
