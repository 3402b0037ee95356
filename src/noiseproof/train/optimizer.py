"""Optimisers and learning rate schedules by name; schedules are pure functions of time, without state."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from ..grammar import call

OPTIMIZERS: dict[str, tuple[type[torch.optim.Optimizer], dict[str, type]]] = {
    "sgd": (torch.optim.SGD, {"nesterov": bool, "dampening": float}),
    "adam": (torch.optim.Adam, {"beta1": float, "beta2": float, "eps": float, "amsgrad": bool}),
    "adamw": (torch.optim.AdamW, {"beta1": float, "beta2": float, "eps": float, "amsgrad": bool}),
}
"""Name -> class and the options of its spec, with their types."""


def make_optimizer(
    spec: str, parameters: Iterable[nn.Parameter], *, lr: float, momentum: float, weight_decay: float
) -> torch.optim.Optimizer:
    """The optimiser of a spec; ``momentum`` is used by sgd."""
    name, chosen = parse_optimizer(spec)
    weights = list(parameters)
    chosen |= {"lr": lr, "weight_decay": weight_decay}
    if all(weight.is_cuda for weight in weights):
        chosen["fused"] = True
    if name == "sgd":
        chosen["momentum"] = momentum
    else:
        chosen["betas"] = (chosen.pop("beta1", 0.9), chosen.pop("beta2", 0.999))
        chosen["capturable"] = chosen.get("fused", False)
    try:
        return OPTIMIZERS[name][0](weights, **chosen)
    except ValueError as problem:
        raise ValueError(f"optimizer={spec!r}: {problem}") from None


def restore_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load a state; tensors with the shape of a weight get its memory format, as fused kernels require."""
    optimizer.load_state_dict(state)
    for weight, values in optimizer.state.items():
        for name, value in values.items():
            if isinstance(value, torch.Tensor) and value.shape == weight.shape:
                values[name] = torch.empty_like(weight, requires_grad=False).copy_(value)


def parse_optimizer(spec: str) -> tuple[str, dict[str, Any]]:
    """Name and options of an optimiser spec.

    Example:
        >>> parse_optimizer("sgd(nesterov=True)")
        ('sgd', {'nesterov': True})
    """
    name, found = call(spec, "optimizer", {name: kinds for name, (_, kinds) in OPTIMIZERS.items()})
    for word, value in found.items():
        kind = OPTIMIZERS[name][1][word]
        is_bool = isinstance(value, bool)
        if is_bool != (kind is bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name}: {word}={value!r} must be a {kind.__name__}")
    return name, found


Schedule = Callable[["Moment", float], float]


class Moment:
    """The time of a step: the numbers of its iteration and epoch, counted from 0, and their totals."""

    __slots__ = ("epoch", "epochs", "step", "steps")

    def __init__(self, *, step: int, steps: int, epoch: int, epochs: int) -> None:
        self.step, self.steps, self.epoch, self.epochs = step, steps, epoch, epochs

    def time(self, by: str) -> tuple[int, int]:
        """The current time and the end, in epochs or in iterations."""
        return (self.step, self.steps) if by == "iteration" else (self.epoch, self.epochs)


def constant(*, warmup: int = 0, by: str = "epoch") -> Schedule:
    """The same learning rate throughout."""
    return _timed(lambda now, end, lr: lr, warmup, by)


def cosine(*, minimum: float = 0.0, warmup: int = 0, by: str = "epoch") -> Schedule:
    r"""From lr down to ``minimum`` along half a cosine: :math:`m + (\eta-m)(1+\cos(\pi t/T))/2`."""
    return _timed(lambda now, end, lr: _half_cosine(now / end, lr, minimum), warmup, by)


def step(
    *, milestones: str | int, gamma: float = 0.1, decay: float = 0.0, warmup: int = 0, by: str = "epoch"
) -> Schedule:
    """Multiplied by ``gamma`` at each milestone, as in ``step(milestones="40,80")``.

    In iteration t it is also divided by ``1 + decay * t``, as in Keras.
    """
    times = _times(milestones)
    stairs = _timed(lambda now, end, lr: lr * gamma ** sum(now >= t for t in times), warmup, by)
    return lambda moment, lr: stairs(moment, lr) / (1.0 + decay * moment.step)


def every(*, period: int, gamma: float = 0.1, warmup: int = 0, by: str = "epoch") -> Schedule:
    """Multiplied by ``gamma`` after each ``period``."""
    if period < 1:
        raise ValueError(f"every: period={period!r} must be at least 1")
    return _timed(lambda now, end, lr: lr * gamma ** (now // period), warmup, by)


def exponential(*, gamma: float, warmup: int = 0, by: str = "epoch") -> Schedule:
    """Multiplied by ``gamma`` after each epoch or iteration."""
    return _timed(lambda now, end, lr: lr * gamma**now, warmup, by)


def warm_restarts(
    *, period: int = 10, growth: int = 1, minimum: float = 0.0, warmup: int = 0, by: str = "epoch"
) -> Schedule:
    """A cosine from lr to ``minimum`` that restarts after each period; each is ``growth`` times the last one.

    Reference:
        Loshchilov & Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017
    """
    if period < 1 or growth < 1:
        raise ValueError(f"warm_restarts: period={period!r} and growth={growth!r} must be at least 1")

    def rate(now: int, end: int, lr: float) -> float:
        length = period
        while now >= length:
            now, length = now - length, length * growth
        return _half_cosine(now / length, lr, minimum)

    return _timed(rate, warmup, by)


SCHEDULES: dict[str, Callable[..., Schedule]] = {
    "constant": constant,
    "cosine": cosine,
    "step": step,
    "every": every,
    "exponential": exponential,
    "warm_restarts": warm_restarts,
}


def get_schedule(spec: str) -> Schedule:
    """The schedule of a spec: a function of the moment and the initial learning rate.

    All take ``by="epoch"`` or ``by="iteration"``, the unit of time, and ``warmup``, the duration of a linear
    increase at the beginning.

    Example:
        >>> rate = get_schedule("step(milestones='2,4', gamma=0.5)")
        >>> [rate(Moment(step=0, steps=9, epoch=epoch, epochs=6), 0.1) for epoch in range(6)]
        [0.1, 0.1, 0.05, 0.05, 0.025, 0.025]
    """
    known = {name: inspect.signature(factory).parameters for name, factory in SCHEDULES.items()}
    name, found = call(spec, "schedule", known)
    for word, value in found.items():
        _check_option(name, word, value)
    for word, parameter in known[name].items():
        if parameter.default is inspect.Parameter.empty and word not in found:
            raise ValueError(f"{name} needs {word}=...")
    return SCHEDULES[name](**found)


def _check_option(name: str, word: str, value: object) -> None:
    if word == "by":
        if value not in ("epoch", "iteration"):
            raise ValueError(f"{name}: by={value!r} is unknown, choose 'epoch' or 'iteration'")
    elif word != "milestones":
        kind: tuple[type, ...] = (int,) if word in ("warmup", "period", "growth") else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind):
            raise TypeError(f"{name}: {word}={value!r} must be a {'whole ' * (kind == (int,))}number")
        if not 0 <= value < math.inf:  # type: ignore[operator]
            raise ValueError(f"{name}: {word}={value!r} must not be negative")


def _times(milestones: object) -> list[int]:
    words = str(milestones).split(",")
    if not all(word.strip().isdigit() for word in words):
        raise ValueError(f"step: milestones={milestones!r} must be whole numbers, as in '40,80'")
    return [int(word) for word in words]


def _half_cosine(share: float, lr: float, minimum: float) -> float:
    return minimum + (lr - minimum) * (1 + math.cos(math.pi * share)) / 2


def _timed(rate: Callable[[int, int, float], float], warmup: int, by: str) -> Schedule:
    def scheduled(moment: Moment, lr: float) -> float:
        now, end = moment.time(by)
        rise = min(1.0, (now + 1) / (warmup + 1))
        return rise * rate(now, end, lr)

    return scheduled
