"""Losses users write in one line, from an emphasis or a value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Unpack

from .base import Outer
from .integral import IntegralTable
from .limits import choice
from .margin_loss import MarginLoss

REACH = 60.0
"""Beyond this margin a user's emphasis is taken as constant when it is integrated."""
FADED = 1e-9
"""An emphasis that is less than this share of its largest by then is taken to end there."""


def make(kind: type[CustomLoss], function: Callable[..., Tensor], of: str, name: str | None) -> MarginLoss:
    """Build the loss; with a name, register what builds it."""
    loss = kind(function, of, name)
    if name is not None:
        from .registry import register

        register(name, partial(kind, function, of, name))
    return loss


class CustomLoss(MarginLoss):
    """Holds the user's function of ``(p, 1 - p)`` or of the margin."""

    name = "custom"

    def __init__(
        self, function: Callable[..., Tensor], of: str, name: str | None, **outer: Unpack[Outer]
    ) -> None:
        super().__init__(**outer)
        self.variable = choice("custom loss", "of", of, ("p", "margin"))
        self.function = function
        self.given_name = name
        self._check()

    def _check(self) -> None:
        margin = _margins()
        emphasis = self.emphasis(margin)
        if not isinstance(emphasis, Tensor):
            kind = type(emphasis).__name__
            raise TypeError(
                f"{self}: the function must return a tensor of the shape it is given, got a {kind}"
            )
        if emphasis.shape != margin.shape:
            raise ValueError(f"{self}: the function must keep the shape of its input")
        bad = ~(emphasis.isfinite() & (emphasis >= -1e-12 * emphasis.abs().max()))
        if bad.any():
            where, found = float(margin[bad][0]), float(emphasis[bad][0])
            raise ValueError(
                f"{self}: the emphasis is {found:.4g} at margin {where:.4g}; it must be finite and not"
                " negative, since a loss falls as the margin grows"
            )

    def __str__(self) -> str:
        return self.given_name or f"<unnamed {type(self).__name__} of {self.variable}>"

    __repr__ = __str__

    def __copy__(self) -> CustomLoss:
        return self._filled({name: copy.copy(value) for name, value in self.__dict__.items()})

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomLoss:
        return self._filled(copy.deepcopy(self.__dict__, memo))

    def _filled(self, state: dict[str, Any]) -> CustomLoss:
        """Another one in this state: a copy keeps its function, whatever its name stands for by now."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(state)
        return twin

    def __reduce__(self) -> Any:
        if self.given_name is None:
            return super().__reduce__()
        return _restore, (self.given_name, self.outer())


class EmphasisLoss(CustomLoss):
    r"""Value by integration: to infinity where the emphasis has faded by a margin of 60, to 1e-9 of its
    largest, else the signed :math:`-\int_0^\Delta`."""

    def __init__(
        self, function: Callable[..., Tensor], of: str, name: str | None, **outer: Unpack[Outer]
    ) -> None:
        super().__init__(function, of, name, **outer)
        curve = self.emphasis(_margins())
        fades = float(curve[-1]) <= FADED * float(curve.max())
        anchor = REACH if fades else 0.0
        self._integral = IntegralTable(self.emphasis, low=-REACH, high=REACH, anchor=anchor, ends=fades)

    def value(self, margin: Tensor) -> Tensor:
        return self._integral(margin)

    def emphasis(self, margin: Tensor) -> Tensor:
        if self.variable == "margin":
            return self.function(margin)
        return self.function(torch.sigmoid(margin), torch.sigmoid(-margin))


class ValueLoss(CustomLoss):
    """Emphasis by differentiating; p and 1 - p count as two variables, so neither rounds away."""

    def value(self, margin: Tensor) -> Tensor:
        if self.variable == "margin":
            return self.function(margin)
        return self.function(torch.sigmoid(margin), torch.sigmoid(-margin))

    def emphasis(self, margin: Tensor) -> Tensor:
        def total(*inputs: Tensor) -> Tensor:
            return self.function(*inputs).sum()

        if self.variable == "margin":
            slope: Tensor = torch.func.grad(total)(margin)
            return -slope
        p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
        by_p, by_rest = torch.func.grad(total, argnums=(0, 1))(p, rest)
        emphasis: Tensor = (by_rest - by_p) * p * rest
        return emphasis


def _margins() -> Tensor:
    return torch.linspace(-REACH, REACH, 241, dtype=torch.float64, device="cpu")


def _restore(name: str, outer: Outer) -> MarginLoss:
    from .registry import LOSSES

    if name not in LOSSES:
        raise ValueError(f"the loss {name!r} was pickled but is not registered here: register it first")
    loss = LOSSES[name](**outer)
    assert isinstance(loss, MarginLoss)
    return loss
