"""A loss of row statistics that is added where one over its blind loss is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..sum_plan import SumPlan


def slope_rows(join: SumPlan | None) -> int:
    """Derivatives by margin and B; of a sum also the factor of exp(z - peak), shift and label."""
    return 2 if join is None else 5


def joining(join: SumPlan | None, sums: tuple[int, int]) -> tuple[float, list[tuple[float, ...]]]:
    """Weight and how, see ``join``; ``sums`` are rows of the state: sum of z and number of classes.

    >>> joining(None, (4, 5))
    (1.0, [(), (), (), ()])
    """
    if join is None:
        return 1.0, [(), (), (), ()]
    return join.weight, [() if join.wanted is None else sums, *join.program, join.slots]
