"""Which losses and learning rates are worth a try on given data, from the margins a network starts with."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import torch
from torch import nn

from ..data import LabelledData
from ..devices.device import isolated_random, pick_device
from ..losses import MarginLoss, curve, get, margin
from ..memory import on_the_cpu
from ..train import Config
from ..train.evaluate import logits_of
from ..train.session import Session
from ..train.task import make_task

LOSSES = ("ce", "gce(q=0.7)", "sl", "imae", "unit_max(mae)")
METHODS = ("elr",)
RATES = (1.0, 5.0)
"""Learning rates that are tried, as multiples of the config's."""
LEAST_SHARE = 0.2
"""A loss whose emphasis at the measured margins is below this share of its largest is scaled."""
TAU, SMALLEST = 2.6, 0.1
"""Where ``scale`` puts the first margins; margins this near to 0 are not scaled."""
ROWS = 1024


class Candidate(NamedTuple):
    """Settings to try; ``method`` is None for a loss alone."""

    loss: str
    method: str | None
    lr: float

    def __str__(self) -> str:
        return f"{self.method or self.loss}, lr {self.lr:g}"

    def settings(self) -> dict[str, Any]:
        return self._asdict()

    @property
    def is_usual(self) -> bool:
        """Cross entropy alone: the fallback."""
        return self.loss == "ce" and self.method is None


def candidates(config: Config, start: float, rates: tuple[float, ...] = RATES) -> list[Candidate]:
    """Cross entropy first; ``start`` is the mean margin before training.

    Example:
        >>> for one in candidates(Config(), start=-4.6, rates=(1.0,)):
        ...     print(one)
        ce, lr 0.01
        scale(gce(q=0.7), tau=2.6, initial_margin=4.6), lr 0.01
        scale(sl, tau=2.6, initial_margin=4.6), lr 0.01
        imae, lr 0.01
        unit_max(scale(mae, tau=2.6, initial_margin=4.6)), lr 0.01
        elr, lr 0.01
    """
    tried: list[tuple[str, str | None]] = [(suited(loss, start), None) for loss in LOSSES]
    tried += [("ce", method) for method in METHODS]
    return [Candidate(loss, method, rate * config.lr) for loss, method in tried for rate in rates]


def suited(spec: str, start: float) -> str:
    """The loss, scaled where training would otherwise begin with next to no gradient."""
    loss = get(spec)
    if not isinstance(loss, MarginLoss) or loss.compares_rows() or start > -SMALLEST:
        return spec
    found = curve(loss, 2)
    share = float(found.emphasis(torch.tensor(start, dtype=torch.float64))) / found.peak
    if share >= LEAST_SHARE:
        return spec
    inner = spec.removeprefix("unit_max(").removesuffix(")") if spec.startswith("unit_max(") else spec
    scaled = f"scale({inner}, tau={TAU}, initial_margin={-start:.3g})"
    return f"unit_max({scaled})" if inner != spec else scaled


class Start(NamedTuple):
    """What a run is before its first step."""

    margin: float
    """Mean margin of some training samples."""
    epochs: int
    validation: int
    """Number of validation samples."""


def start_of(config: Config, data: LabelledData | None, model: nn.Module | None) -> Start:
    """Build data and network as training does, and look at its first margins."""
    device = pick_device(config.device)
    with on_the_cpu(), isolated_random(config.seed, device), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself warns again
        task = make_task(config, data)
        session = Session(config, task, device, model)
        some = task.train.subset(torch.arange(min(ROWS, len(task.train))))
        found = float(margin(logits_of(session, some), some.label.cpu()).mean())
    return Start(found, session.epochs, 0 if task.validation is None else len(task.validation))
