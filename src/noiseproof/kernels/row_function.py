"""The interface between losses and kernels: functions of a few statistics of each row of logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor

from .. import processes

Mass: TypeAlias = "Tensor | float"
"""Weight of every row in the mean of the batch, 1.0 if all weights are equal."""


class Statistics(NamedTuple):
    r"""Per-row statistics of logits z with label y and p = softmax(z), each of the target's shape.

    A class masked with a logit of -inf is absent: it adds nothing to any sum.
    """

    margin: Tensor
    logsumexp: Tensor
    sum_z: Tensor
    sum_p2: Tensor
    sum_pz: Tensor


class Wanted(NamedTuple):
    """Which sums a loss needs beyond the margin; each costs some work per logit."""

    sum_z: bool = False
    squares: bool = False
    products: bool = False


class Partials(NamedTuple):
    """Derivatives of a loss with respect to the statistics of its row; None for zero."""

    margin: Tensor | None = None
    logsumexp: Tensor | None = None
    sum_z: Tensor | None = None
    sum_p2: Tensor | None = None
    sum_pz: Tensor | None = None

    def slots(self) -> tuple[int, ...]:
        """The position of each derivative among those that are not None, -1 for None."""
        numbers = iter(range(len(self)))
        return tuple(-1 if part is None else next(numbers) for part in self)

    def given(self) -> list[Tensor]:
        return [part for part in self if part is not None]


Evaluate: TypeAlias = Callable[[Statistics, Tensor, Mass], "tuple[Tensor, Partials]"]
"""A function of statistics, numbers of unmasked classes and ``Mass``: values and partial derivatives."""


class RowFunction:
    """Value and gradient coefficients of a loss as a function of row statistics.

    The function must not change when a number is added to all logits of a row: kernels subtract the label's
    logit from ``logsumexp``, ``sum_z`` and ``sum_pz``.

    Args:
        evaluate: elementwise in the statistics, unless the loss depends on the batch through ``mass``.
        wanted: the sums it reads, None if it reads only the margin.
        weighted: ``sum_z`` and the number of classes are sums weighted per class; the caller passes the
            weights.
        largest_emphasis: set for a loss that is divided by the batch mean of twice its emphasis, to the
            largest possible emphasis; ``evaluate`` is the loss before the division.
        is_fixed: False if ``evaluate`` runs code of the user, which may read variables that change. It is
            then recorded again at every call.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        wanted: Wanted | None = None,
        *,
        weighted: bool = False,
        largest_emphasis: float | None = None,
        is_fixed: bool = True,
    ) -> None:
        self.evaluate = evaluate
        self.wanted = wanted
        self.weighted = weighted
        self.largest_emphasis = largest_emphasis
        self.is_fixed = is_fixed
        self.recording: Any = None
        """The program recorded last, False if there is none, see ``program.recording_of``."""
        self.plans: dict[object, Any] | None = None
        """Launches by layout of the inputs, if the layout alone determines how the function runs."""

    @property
    def divides_by_batch(self) -> bool:
        return self.largest_emphasis is not None

    def __call__(self, row: Statistics, classes: Tensor, mass: Mass) -> tuple[Tensor, Partials]:
        """Values and derivatives, divided by the batch mean if ``divides_by_batch``."""
        value, partials = self.evaluate(row, classes, mass)
        if partials.margin is None or not self.divides_by_batch:
            return value, partials
        mean = batch_mean(-2 * partials.margin.detach(), mass)
        return value / mean, Partials(partials.margin / mean)


def of_margin(
    evaluate: Callable[[Tensor, Mass], tuple[Tensor, Tensor]],
    largest_emphasis: float | None = None,
    is_fixed: bool = True,
) -> RowFunction:
    """The row function of a loss given as a function of margin and ``Mass``: value and emphasis."""

    def of_row(row: Statistics, classes: Tensor, mass: Mass) -> tuple[Tensor, Partials]:
        value, emphasis = evaluate(row.margin, mass)
        return value, Partials(-emphasis)

    return RowFunction(of_row, largest_emphasis=largest_emphasis, is_fixed=is_fixed)


MARGIN = of_margin(lambda margin, mass: (margin, torch.full_like(margin, -1.0)))
"""The row function of the margin itself."""


def weighted_sum(factors: Sequence[float], functions: Sequence[RowFunction | None]) -> RowFunction | None:
    """The sum of several losses, whose statistics are then computed once; None if a part has no function."""
    parts = [function for function in functions if function is not None]
    if len(parts) < len(functions):
        return None
    sums = [part.wanted for part in parts if part.wanted is not None]

    def evaluate(row: Statistics, classes: Tensor, mass: Mass) -> tuple[Tensor, Partials]:
        pairs = [part(row, classes, mass) for part in parts]
        value = _total(factors, [value for value, _ in pairs])
        slopes = zip(*(partials for _, partials in pairs), strict=True)
        return value, Partials(*(_total(factors, slope) for slope in slopes))

    return RowFunction(
        evaluate,
        Wanted(*(any(s) for s in zip(*sums, strict=True))) if sums else None,
        weighted=any(part.weighted for part in parts),
        is_fixed=all(part.is_fixed for part in parts),
    )


def _total(factors: Sequence[float], terms: Sequence[Tensor | None]) -> Any:
    weighted = [factor * term for factor, term in zip(factors, terms, strict=True) if term is not None]
    return sum(weighted[1:], weighted[0]) if weighted else None


def batch_mean(weights: Tensor, mass: Mass) -> Tensor:
    """Mean of ``weights``, weighted by ``mass``, over the rows of all processes."""
    share = torch.ones_like(weights) * mass
    sums = torch.stack([(weights * share).sum(), share.sum()])
    if is_distributed():
        dist.all_reduce(sums)
    tiny = torch.finfo(weights.dtype).tiny
    return (sums[0] / sums[1].clamp_min(tiny)).clamp_min(tiny)


def is_distributed() -> bool:
    """Whether other processes may hold rows of the same batch."""
    return processes.count() > 1
