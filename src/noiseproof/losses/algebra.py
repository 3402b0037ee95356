"""Sums of losses with positive factors: ``10*nce + 0.1*agce(a=1.8, q=3)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import OwnAndBlind, RowFunction, SumPlan, kernels_may_run, uses_kernels, weighted_sum
from ..kernels.inplace import withheld
from .base import Loss, Outer
from .compiled import compiled_rows, is_divided_by_mean
from .fingerprint import WatchedList
from .fused import can_be_fused, recording_of
from .limits import number
from .margin_loss import MarginLoss
from .planned import planned
from .rows import Rows
from .statistics_loss import RowLoss, rows_of

Terms: TypeAlias = Sequence[tuple[float, Loss]]


def add(left: Loss, right: Loss) -> Loss:
    """The sum, a MarginLoss if both parts are; settings of reduction must agree."""
    return combine([*terms_of(left), *terms_of(right)], _common_outer(left, right))


def multiply(factor: object, loss: Loss) -> Loss:
    """``factor`` times the loss."""
    scale = _positive(factor)
    return combine([(_positive(scale * f), part) for f, part in terms_of(loss)], loss.outer())


def combine(terms: Terms, outer: Outer) -> Loss:
    for _, loss in terms:
        if not loss.takes_class_targets:
            raise TypeError(f"{loss} takes targets of the logits' shape: add losses inside binary(...)")
    if all(isinstance(loss, MarginLoss) for _, loss in terms):
        return MarginSum(terms, **outer)
    return Sum(terms, **outer)


def _positive(factor: object) -> float:
    number("a sum of losses", "factor", factor, "0 < factor < inf", lambda f: f > 0)
    assert isinstance(factor, (int, float))
    return factor


def terms_of(loss: Loss) -> Terms:
    if isinstance(loss, (Sum, MarginSum)):
        return list(zip(loss.factors, loss.inner, strict=True))
    return [(1, loss)]


class _Terms(Loss):
    """Factors and parts, and how they print."""

    def __init__(self, terms: Terms, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.factors = tuple(factor for factor, _ in terms)
        self.parts = WatchedList(loss for _, loss in terms)

    @property
    def inner(self) -> tuple[Loss, ...]:
        return tuple(self.parts)  # type: ignore[arg-type]

    def __str__(self) -> str:
        words = [str(p) if f == 1 else f"{f!r}*{p}" for f, p in zip(self.factors, self.inner, strict=True)]
        return " + ".join(words)

    __repr__ = __str__

    def _total(self, values: Sequence[Tensor]) -> Tensor:
        return sum_of([f * value for f, value in zip(self.factors, values, strict=True)])


class Sum(_Terms):
    """A sum with at least one part that is not a MarginLoss."""

    name = "sum"

    def row_function(self, num_classes: int, mass: Tensor | float) -> RowFunction | None:
        functions = [part.row_function(num_classes, mass) for part in self.inner]
        return weighted_sum(self.factors, functions)

    def short_way(self, logits: Tensor, target: Tensor) -> Tensor | None:
        found = super().short_way(logits, target)
        if found is not None or not can_be_fused(logits, target):
            return found
        plan = self._plan(logits.shape[1])
        return None if plan is None else planned(self, logits, target, plan)

    def _plan(self, classes: int) -> SumPlan | None:
        """One gradient pass for losses of row statistics and one over its blind loss; None for other sums."""
        divided: list[tuple[float, OwnAndBlind]] = []
        rest: list[tuple[float, Loss]] = []
        for factor, part in zip(self.factors, self.inner, strict=True):
            plan = part.divided_plan() if isinstance(part, RowLoss) else None
            if plan is None:
                rest.append((factor, part))
            else:
                divided.append((factor, plan))
        if len(divided) != 1 or not rest or any(is_divided_by_mean(part) for _, part in rest):
            return None
        function = weighted_sum([f for f, _ in rest], [part.row_function(classes, 1.0) for _, part in rest])
        if function is None or (function.wanted is not None and any(function.wanted[1:])):
            return None
        found = recording_of(self, function, classes)
        if found is None or found.tables:
            return None
        weight, blind = divided[0]
        return SumPlan(found.program, found.slots, function.wanted, blind, float(weight))

    def hard_rows(self, rows: Rows) -> Tensor:
        if uses_kernels(rows.logits) and kernels_may_run():
            mass = 1.0 if rows.keep is None else rows.keep.unsqueeze(1)
            function = self.row_function(rows.logits.shape[1], mass)
            if function is not None:
                return rows_of(function, rows)
        found = compiled_rows(self, rows)
        if found is not None:
            return found
        with withheld():
            return self._total([part.hard_rows(rows) for part in self.inner])

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        return self._total([part.class_rows(logits, mass) for part in self.inner])

    def soft_rows(self, logits: Tensor, soft: Tensor) -> Tensor:
        return self._total([part.soft_rows(logits, soft) for part in self.inner])


class MarginSum(_Terms, MarginLoss):
    """A sum of MarginLosses is a MarginLoss: values add up, and so do emphases."""

    name = "sum"

    def value(self, margin: Tensor) -> Tensor:
        return self._total([part.value(margin) for part in self._margin_parts()])

    def emphasis(self, margin: Tensor) -> Tensor:
        return self._total([part.emphasis(margin) for part in self._margin_parts()])

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        pairs = [p.evaluate(margin, num_classes=num_classes, mass=mass) for p in self._margin_parts()]
        values, emphases = zip(*pairs, strict=True)
        return self._total(values), self._total(emphases)

    def _margin_parts(self) -> tuple[MarginLoss, ...]:
        return self.inner  # type: ignore[return-value]


def sum_of(tensors: Sequence[Tensor]) -> Tensor:
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


def _common_outer(left: Loss, right: Loss) -> Outer:
    ours, theirs = left.outer(), right.outer()
    same_weight = (ours["weight"] is None) == (theirs["weight"] is None) and (
        ours["weight"] is None or torch.equal(ours["weight"], theirs["weight"])  # type: ignore[arg-type]
    )
    for setting in ("reduction", "ignore_index"):
        if ours[setting] != theirs[setting]:  # type: ignore[literal-required]
            same_weight = False
    if not same_weight:
        raise ValueError(
            f"{left} and {right} differ in reduction, ignore_index or weight: only the outermost loss"
            " has these, so build the sum first and pass them to losses.get"
        )
    return ours
