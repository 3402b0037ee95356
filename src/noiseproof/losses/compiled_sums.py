"""Sums of losses as the compiled CPU operator takes them: in one pass where it can, else part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from ..kernels import RowFunction, weighted_sum
from .margin_loss import MarginLoss
from .nfl import NFL

if TYPE_CHECKING:
    from .algebra import Sum


class OneOverAll(NamedTuple):
    """A normalized loss and its factor, and the losses of the margin beside it with theirs."""

    weight: float
    normalized: NFL
    rest: list[tuple[float, MarginLoss]]

    def of_margin(self, classes: int) -> RowFunction | None:
        """The rest as one function."""
        functions = [part.row_function(classes, 1.0) for _, part in self.rest]
        return weighted_sum([factor for factor, _ in self.rest], functions)


def one_over_all(loss: Sum) -> OneOverAll | None:
    """``nfl + mae`` and its kin; None for other sums.

    Example:
        >>> from noiseproof import losses
        >>> one_over_all(losses.get("2*nfl + mae"))
        OneOverAll(weight=2, normalized=nfl(gamma=0.5), rest=[(1, mae)])
    """
    from .compiled import is_divided_by_mean

    terms = list(zip(loss.factors, loss.inner, strict=True))
    normalized = [(factor, part) for factor, part in terms if type(part) is NFL]
    rest = [(factor, part) for factor, part in terms if isinstance(part, MarginLoss)]
    if len(normalized) != 1 or not rest or len(normalized) + len(rest) != len(terms):
        return None
    return None if any(is_divided_by_mean(part) for _, part in rest) else OneOverAll(*normalized[0], rest)


def part_by_part(
    loss: Sum, logits: Tensor, target: Tensor, ignore_index: int, reduction: str
) -> Tensor | None:
    """The sum of what the operator says of every part; None if it does not know one of them."""
    from .algebra import sum_of
    from .compiled import compiled, number_of

    if any(number_of(part, logits.shape[1]) is None for part in loss.inner):
        return None
    found = []
    for factor, part in zip(loss.factors, loss.inner, strict=True):
        value = compiled(part, logits, target, ignore_index, reduction)
        if value is None:
            return None
        found.append(value if factor == 1 else value * factor)
    return sum_of(found)
