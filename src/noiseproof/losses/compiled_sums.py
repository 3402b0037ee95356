"""Sums of losses as the compiled CPU operator takes them: in one pass where it can, else part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from ..kernels import RowFunction, weighted_sum
from ..kernels.cpu import operator as cpu_operator
from ..kernels.cpu.again import REDUCTIONS
from .algebra import MarginSum, Sum
from .compiled import has_company, is_divided_by_mean, is_of_whole_batch, number_of
from .compiled_wrappers import WRAPPERS
from .nfl import NFL

if TYPE_CHECKING:
    from .base import Loss

SUMS = (Sum, MarginSum)


class OneOverAll(NamedTuple):
    """A normalized loss and its factor, and the losses of row statistics beside it with theirs."""

    weight: float
    normalized: NFL
    rest: list[tuple[float, Loss]]

    def of_rows(self, classes: int) -> RowFunction | None:
        """The rest as one function, None if that is none or asks for more than margin and sum of z."""
        functions = [part.row_function(classes, 1.0) for _, part in self.rest]
        found = weighted_sum([factor for factor, _ in self.rest], functions)
        wanted = None if found is None else found.wanted
        return None if wanted is not None and (wanted.squares or wanted.products) else found


def one_over_all(loss: Sum | MarginSum) -> OneOverAll | None:
    """``nfl + mae`` and its kin; None for other sums.

    Example:
        >>> from noiseproof import losses
        >>> one_over_all(losses.get("2*nfl + mae"))
        OneOverAll(weight=2, normalized=nfl(gamma=0.5), rest=[(1, mae)])
    """
    terms = list(zip(loss.factors, loss.inner, strict=True))
    normalized = [(factor, part) for factor, part in terms if type(part) is NFL]
    rest = [(factor, part) for factor, part in terms if type(part) is not NFL]
    if len(normalized) != 1 or not rest or any(is_divided_by_mean(part) for _, part in rest):
        return None
    return OneOverAll(*normalized[0], rest)


def part_by_part(
    loss: Sum | MarginSum, logits: Tensor, target: Tensor, ignore_index: int, reduction: str
) -> Tensor | None:
    """The sum of what the operator says of every part; None if it does not know one of them."""
    if any(type(part) in WRAPPERS for part in loss.inner):
        return None
    found = (number_of(part, logits.shape[1]) for part in loss.inner)
    numbers = [number for number in found if number is not None]
    if len(numbers) < len(loss.factors) or (has_company() and any(map(is_of_whole_batch, numbers))):
        return None
    factors = [float(factor) for factor in loss.factors]
    how = REDUCTIONS[reduction]
    total: Tensor = cpu_operator.total(logits, target, numbers, factors, ignore_index, how)
    return total
