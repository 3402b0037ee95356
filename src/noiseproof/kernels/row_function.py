"""A loss as a function of row statistics: what kernels, recorders and torch expressions all evaluate."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from torch import Tensor

from .reference import Statistics, Wanted


class Partials(NamedTuple):
    """Derivatives of a loss with respect to the row statistics, columns (N, 1); None for zero."""

    margin: Tensor | None = None
    logsumexp: Tensor | None = None
    sum_z: Tensor | None = None
    sum_p2: Tensor | None = None
    sum_pz: Tensor | None = None

    def slots(self) -> tuple[int, ...]:
        """Where each one lies among those that are not None, -1 for None."""
        numbers = iter(range(len(self)))
        return tuple(-1 if part is None else next(numbers) for part in self)

    def given(self) -> list[Tensor]:
        return [part for part in self if part is not None]


EvaluateStatistics: TypeAlias = Callable[[Statistics, Tensor], tuple[Tensor, Partials]]
"""Statistics and numbers of present classes, columns (N, 1), to values and partial derivatives."""


class RowFunction(NamedTuple):
    """``evaluate`` and the sums it wants; None where the margin is enough, which then has shape (N,).

    It must not change when a number is added to all logits of a row: kernels take the label's logit off
    ``logsumexp``, ``sum_z`` and ``sum_pz``.
    """

    evaluate: EvaluateStatistics
    wanted: Wanted | None = None


def of_margin(evaluate: Callable[[Tensor], tuple[Tensor, Tensor]]) -> RowFunction:
    """A function of the margin to its value and emphasis, as a function of row statistics."""

    def judge(row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        value, emphasis = evaluate(row.margin)
        return value, Partials(-emphasis)

    return RowFunction(judge)


def weighted_sum(factors: Sequence[float], functions: Sequence[RowFunction | None]) -> RowFunction | None:
    """Values and derivatives add up, so the statistics are taken once; None if a part is None."""
    parts = [function for function in functions if function is not None]
    if len(parts) < len(functions):
        return None
    sums = [part.wanted for part in parts if part.wanted is not None]

    def evaluate(row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        pairs = [part.evaluate(row, classes) for part in parts]
        value = _total(factors, [value for value, _ in pairs])
        slopes = zip(*(partials for _, partials in pairs), strict=True)
        return value, Partials(*(_total(factors, slope) for slope in slopes))  # type: ignore[arg-type]

    return RowFunction(evaluate, Wanted(*(any(s) for s in zip(*sums, strict=True))) if sums else None)


def _total(factors: Sequence[float], terms: Sequence[Tensor | None]) -> Any:
    weighted = [factor * term for factor, term in zip(factors, terms, strict=True) if term is not None]
    return sum(weighted[1:], weighted[0]) if weighted else None
