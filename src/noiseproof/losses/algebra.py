"""Sums of losses with positive factors: ``10*nce + 0.1*agce(a=1.8, q=3)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from torch import Tensor, nn
from typing_extensions import Unpack

from .. import kernels
from ..kernels import Mass, RowFunction
from ..kernels.linear.projection import Projection
from ..kernels.linear.total import BlockLoss, ExpressionBlockLoss
from .base import Loss, Outer
from .margin_loss import MarginLoss
from .rows import Rows

Terms: TypeAlias = Sequence[tuple[float, Loss]]


class Sum(Loss):
    """A sum of losses; parts that are row functions are computed together."""

    name = "sum"
    why_no_row_function = "not all of its parts are functions of a few statistics of a row"

    def __init__(self, terms: Terms, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.factors = tuple(factor for factor, _ in terms)
        self.parts = nn.ModuleList(loss for _, loss in terms)
        self._together: dict[int, RowFunction | None] = {}

    @property
    def inner(self) -> tuple[Loss, ...]:
        return tuple(self.parts)  # type: ignore[arg-type]

    @property
    def terms(self) -> Terms:
        return list(zip(self.factors, self.inner, strict=True))

    def __str__(self) -> str:
        texts = [str(p) if f == 1 else f"{f!r}*{p}" for f, p in self.terms]
        return " + ".join(texts)

    __repr__ = __str__

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_together": {}}

    def build_row_function(self, num_classes: int) -> RowFunction | None:
        found = kernels.weighted_sum(self.factors, [p.row_function(num_classes) for p in self.inner])
        return None if found is None or found.weighted else found

    def hard_rows(self, rows: Rows) -> Tensor:
        if self.row_function(rows.logits.shape[1]) is not None:
            return super().hard_rows(rows)
        with kernels.without_inplace():
            together, rest = self._grouped(rows.logits.shape[1])
            values = [factor * part.hard_rows(rows) for factor, part in rest]
            if together is not None:
                values.append(kernels.rows(together, rows.logits, rows.target, rows.keep))
        return sum_of(values)

    def _grouped(self, num_classes: int) -> tuple[RowFunction | None, Terms]:
        """The sum of the parts that are row functions, and the other parts."""
        functions, rest = [], []
        for factor, part in self.terms:
            function = part.row_function(num_classes)
            if function is None or function.weighted:
                rest.append((factor, part))
            else:
                functions.append((factor, function))
        if not functions:
            return None, rest
        if num_classes not in self._together:
            self._together[num_classes] = kernels.weighted_sum(*zip(*functions, strict=True))
        return self._together[num_classes], rest

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        return self._total([part.class_rows(logits, mass) for part in self.inner])

    def soft_rows(self, logits: Tensor, soft: Tensor) -> Tensor:
        return self._total([part.soft_rows(logits, soft) for part in self.inner])

    def linear_rows(self, projection: Projection, rows: Rows) -> Tensor:
        if not self.compares_rows():
            return super().linear_rows(projection, rows)
        return self._total([part.linear_rows(projection, rows) for part in self.inner])

    def linear_block_loss(self, rows: Rows) -> BlockLoss:
        if rows.is_soft or self.row_function(rows.logits.shape[1]) is not None:
            return super().linear_block_loss(rows)
        losses = [part.linear_block_loss(rows) for part in self.inner]
        return ExpressionBlockLoss(
            lambda logits, part: self._total([loss.values(logits, part) for loss in losses])
        )

    def _total(self, values: Sequence[Tensor]) -> Tensor:
        return sum_of([f * value for f, value in zip(self.factors, values, strict=True)])


def sum_of(tensors: Sequence[Tensor]) -> Tensor:
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


class MarginSum(Sum, MarginLoss):  # type: ignore[misc]
    """A sum of MarginLosses is a MarginLoss: values add up, and so do emphases."""

    linear_rows = MarginLoss.linear_rows

    def value(self, margin: Tensor) -> Tensor:
        return self._total([part.value(margin) for part in self._margin_parts()])

    def emphasis(self, margin: Tensor) -> Tensor:
        return self._total([part.emphasis(margin) for part in self._margin_parts()])

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Mass | None = None
    ) -> tuple[Tensor, Tensor]:
        pairs = [p.evaluate(margin, num_classes=num_classes, mass=mass) for p in self._margin_parts()]
        values, emphases = zip(*pairs, strict=True)
        return self._total(values), self._total(emphases)

    def _margin_parts(self) -> tuple[MarginLoss, ...]:
        return self.inner  # type: ignore[return-value]


Loss.sum_type, MarginLoss.sum_type = Sum, MarginSum
