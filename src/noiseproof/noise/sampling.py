"""Selection of the samples whose labels noise may change: independently, or in exact numbers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .arrays import Floats, Integers, Mask, rows_by_class
from .draws import SELECTION, random_bits, uniform

Exact: TypeAlias = "bool | str"
PER_CLASS = "per_class"


def select(rate: Floats, labels: Integers, index: Integers, seed: int, exact: Exact) -> Mask:
    """A mask of the samples that noise selects.

    ``exact=False``: sample i is selected if its uniform number is below ``rate[i]``.
    ``exact=True``: as many samples as the sum of the rates, rounded. ``exact="per_class"``: as many samples
    of every class as the sum of the rates of that class, rounded. Both depend on the whole set.

    >>> labels = np.repeat([0, 1], 50)
    >>> mask = select(np.full(100, 0.3), labels, np.arange(100), 0, "per_class")
    >>> np.bincount(labels[mask])
    array([15, 15])
    """
    exact = as_exact(exact)
    if exact is False:
        return uniform(seed, index, SELECTION) < rate
    _check_distinct(index)
    order = np.lexsort((index, random_bits(seed, index, SELECTION)))
    mask = np.zeros(len(rate), dtype=np.bool_)
    for part in _parts(labels, order, exact):
        mask[part] = _systematic(rate[part])
    return mask


def as_exact(exact: object) -> Exact:
    """``exact`` as False, True or "per_class"; numpy bools are accepted.

    >>> as_exact(np.True_)
    True
    """
    if isinstance(exact, (bool, np.bool_)):
        return bool(exact)
    if isinstance(exact, str) and exact == PER_CLASS:
        return PER_CLASS
    raise ValueError(f"exact={exact!r} is unknown, choose False, True or {PER_CLASS!r}")


def _parts(labels: Integers, order: Integers, exact: Exact) -> list[Integers]:
    if exact is True:
        return [order]
    return [order[part] for part in rows_by_class(labels[order])]


def _systematic(rate: Floats) -> Mask:
    """Madow's systematic sampling: select an item whenever the running sum passes k + 1/2."""
    reached = np.floor(np.cumsum(rate) + 0.5)
    return np.diff(reached, prepend=0.0) > 0


def _check_distinct(index: Integers) -> None:
    values, counts = np.unique(index, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"index {values[counts > 1][0]} occurs more than once: exact counts need distinct indices"
            " (use exact=False, where copies of a sample share its label)"
        )
