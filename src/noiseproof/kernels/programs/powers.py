r"""Class programs of powers of p: value :math:`v_0+\sum_i v_ip^{q_i}`, ratio :math:`\sum_i c_ip^{q_i}`.

Their sums over all classes need no p, only sums of powers of exp(z - peak), which one pass over the logits
leaves.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from .recorder import Program
from .terms import ONE, terms_of

MOST_POWERS = 2


class Powers(NamedTuple):
    """Two tuples of factors belong to the exponents: those of the value and those of the ratio."""

    exponents: tuple[float, ...]
    value: tuple[float, ...]
    ratio: tuple[float, ...]
    constant: float
    """The value of a class without p."""


@functools.cache
def powers_of(program: Program) -> Powers | None:
    """None where the program is no such sum, has too many powers, or a ratio that p = 0 leaves."""
    found = terms_of(program)
    if found is None or found[1].get(ONE):
        return None
    value, ratio = found
    keys = sorted((value.used() | ratio.used()) - {ONE})
    if not 0 < len(keys) <= MOST_POWERS or any(q < 0 or logs for q, logs in keys):
        return None
    by_value, by_ratio = (tuple(terms.get(key, 0.0) for key in keys) for terms in found)
    return Powers(tuple(q for q, _ in keys), by_value, by_ratio, value.get(ONE, 0.0))
