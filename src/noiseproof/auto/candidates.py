"""Candidate losses, methods and learning rates, given the margins of the untrained network."""

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
"""Learning rates of candidates, as multiples of that of the config."""
MIN_SHARE = 0.2
"""A loss is scaled if its emphasis at the initial margin is below this share of its largest emphasis."""
TAU, MIN_MARGIN = 2.6, 0.1
"""``tau`` of scaled losses; initial margins of smaller absolute value are not scaled."""
ROWS = 1024


class Candidate(NamedTuple):
    """Settings of a trial; ``method`` is None for a loss alone."""

    loss: str
    method: str | None
    lr: float

    def __str__(self) -> str:
        return f"{self.method or self.loss}, lr {self.lr:g}"

    def settings(self) -> dict[str, Any]:
        return self._asdict()

    @property
    def is_cross_entropy(self) -> bool:
        """Whether this is cross entropy without a method, the fallback."""
        return self.loss == "ce" and self.method is None


def candidates(config: Config, initial_margin: float, rates: tuple[float, ...] = RATES) -> list[Candidate]:
    """All candidates, cross entropy first; ``initial_margin`` is the mean margin before training.

    Example:
        >>> for one in candidates(Config(), initial_margin=-4.6, rates=(1.0,)):
        ...     print(one)
        ce, lr 0.01
        scale(gce(q=0.7), tau=2.6, initial_margin=4.6), lr 0.01
        scale(sl, tau=2.6, initial_margin=4.6), lr 0.01
        imae, lr 0.01
        unit_max(scale(mae, tau=2.6, initial_margin=4.6)), lr 0.01
        elr, lr 0.01
    """
    pairs: list[tuple[str, str | None]] = [(scaled_spec(loss, initial_margin), None) for loss in LOSSES]
    pairs += [("ce", method) for method in METHODS]
    return [Candidate(loss, method, rate * config.lr) for loss, method in pairs for rate in rates]


def scaled_spec(spec: str, initial_margin: float) -> str:
    """The spec, scaled if the loss would otherwise have almost no gradient at the initial margin."""
    loss = get(spec)
    if not isinstance(loss, MarginLoss) or loss.compares_rows() or initial_margin > -MIN_MARGIN:
        return spec
    found = curve(loss, 2)
    share = float(found.emphasis(torch.tensor(initial_margin, dtype=torch.float64))) / found.peak
    if share >= MIN_SHARE:
        return spec
    inner = spec.removeprefix("unit_max(").removesuffix(")") if spec.startswith("unit_max(") else spec
    scaled = f"scale({inner}, tau={TAU}, initial_margin={-initial_margin:.3g})"
    return f"unit_max({scaled})" if inner != spec else scaled


class InitialState(NamedTuple):
    """Facts about a run before its first step."""

    margin: float
    """Mean margin of some training samples."""
    epochs: int
    validation: int
    """Number of validation samples."""


def initial_state(config: Config, data: LabelledData | None, model: nn.Module | None) -> InitialState:
    """Build data and network as for training, and measure the initial margins."""
    device = pick_device(config.device)
    with on_the_cpu(), isolated_random(config.seed, device), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself warns again
        task = make_task(config, data)
        session = Session(config, task, device, model)
        some = task.train.subset(torch.arange(min(ROWS, len(task.train))))
        found = float(margin(logits_of(session, some), some.label.cpu()).mean())
    return InitialState(found, session.epochs, 0 if task.validation is None else len(task.validation))
