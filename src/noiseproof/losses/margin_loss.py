"""Losses that are functions of the margin; a subclass defines a value and an emphasis."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import Mass, RowFunction, attach, of_margin
from ..kernels.linear.margin import linear_margin_rows
from ..kernels.linear.projection import Projection
from .base import Loss, Outer
from .checks import choice
from .curves.numerics import IntegralTable, Peak, find_peak
from .registry import LOSSES, register
from .rows import Rows

MAX_MARGIN = 60.0
"""Beyond this margin a user's emphasis is assumed to be constant when it is integrated."""
NEGLIGIBLE = 1e-9
"""An emphasis below this share of its maximum at that margin is assumed to be 0 beyond it."""


class MarginLoss(Loss):
    r"""A loss :math:`\ell(\Delta)`: implement ``value`` and ``emphasis`` :math:`= -d\ell/d\Delta \ge 0`.

    Its gradient is :math:`\text{emphasis}(\Delta)\cdot(\mathrm{softmax}_{j\ne y}(z) - e_y)` for every
    such loss, so the L1 norm of the logit gradient is twice the emphasis. Only logits get a gradient: a
    parameter of the loss itself is not learned.
    """

    def value(self, margin: Tensor) -> Tensor:
        """Elementwise value."""
        raise NotImplementedError(f"{type(self).__name__} must define value(margin)")

    def emphasis(self, margin: Tensor) -> Tensor:
        """Elementwise emphasis, never including class or sample weights."""
        raise NotImplementedError(
            f"{type(self).__name__} must define emphasis(margin), minus the derivative of its value"
        )

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Mass | None = None
    ) -> tuple[Tensor, Tensor]:
        """Value and emphasis inside a batch of ``num_classes`` logits.

        ``mass`` is the weight of each margin, 1.0 if all are equal, for losses that depend on the batch;
        with None the loss is not normalised over the batch.
        """
        value, emphasis = self.value(margin), self.emphasis(margin)
        for name, found in (("value", value), ("emphasis", emphasis)):
            if isinstance(found, Tensor) and isinstance(margin, Tensor) and found.shape != margin.shape:
                raise ValueError(
                    f"{name} of {type(self).__name__} has shape {tuple(found.shape)} for margins of shape"
                    f" {tuple(margin.shape)}: it must give a number for each"
                )
        return value, emphasis

    def peak(self) -> Peak:
        """Supremum of the emphasis and the margin where it is reached."""
        return find_peak(self.emphasis, str(self))

    @property
    def kinks(self) -> tuple[float, ...]:
        """Margins where the emphasis jumps."""
        return ()

    def build_row_function(self, num_classes: int) -> RowFunction:
        return of_margin(lambda margin, mass: self.evaluate(margin, num_classes=num_classes, mass=mass))

    def linear_rows(self, projection: Projection, rows: Rows) -> Tensor:
        if rows.is_soft:
            return super().linear_rows(projection, rows)
        margin = linear_margin_rows(projection, rows.target, rows.keep)
        mass = 1.0 if rows.keep is None else rows.keep
        value, emphasis = self.evaluate(margin.detach(), num_classes=rows.logits.shape[1], mass=mass)
        values = attach(value, [margin], [-emphasis])
        return values if rows.keep is None else torch.where(rows.keep, values, 0.0)

    @staticmethod
    def from_emphasis(fn: Callable[..., Tensor], *, name: str | None = None, of: str = "p") -> MarginLoss:
        r"""A loss from its emphasis: ``fn(p, 1 - p)``, or ``fn(margin)`` with ``of="margin"``.

        The value is :math:`\int_\Delta^\infty` of the emphasis if at margin 60 the emphasis is at most 1e-9
        of its maximum, else :math:`-\int_0^\Delta`. With a ``name`` the loss is registered: it can be parsed,
        printed and pickled by this name.

        Example:
            >>> loss = MarginLoss.from_emphasis(lambda p, q: p * q)
            >>> loss(torch.tensor([[1.0, 1.0]]), torch.tensor([0]))
            tensor(0.5000)
        """
        return _make(EmphasisLoss, fn, of, name)

    @staticmethod
    def from_value(fn: Callable[..., Tensor], *, name: str | None = None, of: str = "p") -> MarginLoss:
        """A loss from its value: ``fn(p, 1 - p)``, or ``fn(margin)`` with ``of="margin"``.

        Example:
            >>> loss = MarginLoss.from_value(lambda p, q: 2 * q)
            >>> loss.emphasis(torch.tensor(0.0))
            tensor(0.5000)
        """
        return _make(ValueLoss, fn, of, name)


# Losses from a user's function for the emphasis or the value --------------------------------------


class CustomLoss(MarginLoss):
    """A loss given by a user's function of ``(p, 1 - p)`` or of the margin."""

    name = "custom"
    runs_user_code = True

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
                " negative, since a loss decreases as the margin grows"
            )

    def _of_p_or_margin(self, margin: Tensor) -> Tensor:
        if self.variable == "margin":
            return self.function(margin)
        return self.function(torch.sigmoid(margin), torch.sigmoid(-margin))

    def __str__(self) -> str:
        return self.given_name or f"<unnamed {type(self).__name__} of {self.variable}>"

    __repr__ = __str__

    def __copy__(self) -> CustomLoss:
        return self._with_attributes({name: copy.copy(value) for name, value in self.__getstate__().items()})

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomLoss:
        return self._with_attributes(copy.deepcopy(self.__getstate__(), memo))

    def _with_attributes(self, state: dict[str, Any]) -> CustomLoss:
        """A copy; it keeps its function even if its name is registered again."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(state)
        return copied

    def __reduce__(self) -> Any:
        if self.given_name is None:
            return super().__reduce__()
        return _restore, (self.given_name, self.outer())


class EmphasisLoss(CustomLoss):
    r"""Value by integration: to infinity if at margin 60 the emphasis is at most 1e-9 of its maximum,
    else the signed :math:`-\int_0^\Delta`."""

    def __init__(
        self, function: Callable[..., Tensor], of: str, name: str | None, **outer: Unpack[Outer]
    ) -> None:
        super().__init__(function, of, name, **outer)
        curve = self.emphasis(_margins())
        vanishes = float(curve[-1]) <= NEGLIGIBLE * float(curve.max())
        anchor = MAX_MARGIN if vanishes else 0.0
        self._integral = IntegralTable(
            self.emphasis, low=-MAX_MARGIN, high=MAX_MARGIN, anchor=anchor, ends=vanishes
        )

    def value(self, margin: Tensor) -> Tensor:
        return self._integral(margin)

    def emphasis(self, margin: Tensor) -> Tensor:
        return self._of_p_or_margin(margin)


class ValueLoss(CustomLoss):
    """Emphasis by differentiation; p and 1 - p are two variables, so that neither is lost in rounding."""

    def value(self, margin: Tensor) -> Tensor:
        return self._of_p_or_margin(margin)

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


def _make(kind: type[CustomLoss], function: Callable[..., Tensor], of: str, name: str | None) -> MarginLoss:
    """Build the loss; with a name, also register it."""
    loss = kind(function, of, name)
    if name is not None:
        register(name, partial(kind, function, of, name))
    return loss


def _margins() -> Tensor:
    return torch.linspace(-MAX_MARGIN, MAX_MARGIN, 241, dtype=torch.float64, device="cpu")


def _restore(name: str, outer: Outer) -> MarginLoss:
    if name not in LOSSES:
        raise ValueError(f"the loss {name!r} was pickled but is not registered: register it first")
    loss = LOSSES[name](**outer)
    assert isinstance(loss, MarginLoss)
    return loss
