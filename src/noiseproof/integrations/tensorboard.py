"""TensorBoard: the metrics of a run. Needs the extra ``track``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..train.callbacks import Watcher


class TensorBoard(Watcher):
    """Writes the metrics of every epoch as scalars; calls are forwarded to another watcher.

    A resumed run continues the same curves; scalars of epochs that are trained again are purged. Accuracies
    by class are one scalar per class.

    Example::

        config = Config(out="runs/mine")
        fit(config, watcher=TensorBoard("runs/mine/tensorboard"))  # tensorboard --logdir runs
    """

    def __init__(self, folder: str | Path, then: Watcher | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as problem:
            raise ValueError(
                f"TensorBoard is not installed ({problem}): pip install 'noiseproof[track]'"
            ) from None
        self._make: Any = SummaryWriter
        self._writer: Any = None
        self.folder, self.then = Path(folder), then or Watcher()

    def begin(self, done: int, steps: int) -> None:
        self.then.begin(done, steps)

    def step(self, done: int) -> None:
        self.then.step(done)

    def epoch(self, line: dict[str, Any]) -> None:
        if self._writer is None:
            self._writer = self._make(str(self.folder), purge_step=line["epoch"])
        for name, value in scalars(line).items():
            self._writer.add_scalar(name, value, line["epoch"])
        self._writer.flush()
        self.then.epoch(line)

    def end(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self.then.end()


def scalars(line: dict[str, Any]) -> dict[str, float]:
    """The numbers of a line of metrics by name; lists become one number per entry, None is left out.

    Example:
        >>> scalars({"epoch": 3, "loss": 0.5, "snr": None, "test_class_accuracy": [1.0, None]})
        {'loss': 0.5, 'test_class_accuracy/0': 1.0}
    """
    found: dict[str, float] = {}
    for name, value in line.items():
        parts = {f"{name}/{n}": v for n, v in enumerate(value)} if isinstance(value, list) else {name: value}
        found |= {n: float(v) for n, v in parts.items() if v is not None and n != "epoch"}
    return found
