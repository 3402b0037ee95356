r"""Class programs that are sums of a number, log p, p and one more power of p.

Then sums over all classes need no p, which is known only after one look at the row: with e = exp(z - peak),
:math:`\sum_k\pi_kp_k^q` is :math:`\sum_k\pi_ke_k^q` over the q-th power of :math:`\sum_ke_k`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..programs.recorder import Program
from ..programs.terms import LINEAR, LOG, ONE, Terms, terms_of

LEAST_LEFT = 0.08
"""Of terms that cancel so much has to remain, as every one of them is known to float precision."""
SHARES = tuple(2.0**-k for k in range(1, 24))
"""Where that is looked at; a larger share has only the likeliest class, which is no part of these sums."""


class Powers(NamedTuple):
    """Factors of 1, log p, p and the power of p: for the value, and for the ratio, which has no log p."""

    exponent: float
    """0 if there is no further power."""
    value: tuple[float, float, float, float]
    ratio: tuple[float, float, float, float]


def powers_of(program: Program) -> Powers | None:
    """None where the program is no such sum, or one whose terms cancel."""
    found = terms_of(program)
    if found is None or found[1].get(LOG) or not all(_is_stable(terms) for terms in found):
        return None
    others = sorted((found[0].used() | found[1].used()) - {ONE, LOG, LINEAR})
    if len(others) > 1 or any(q < 0 or j for q, j in others):
        return None
    keys = (ONE, LOG, LINEAR, *(others or [(math.nan, 0)]))
    value, ratio = (tuple(terms.get(key, 0.0) for key in keys) for terms in found)
    return Powers(others[0][0] if others else 0.0, value, ratio)  # type: ignore[arg-type]


def _is_stable(terms: Terms) -> bool:
    return all(
        abs(sum(parts)) >= LEAST_LEFT * sum(map(abs, parts)) for parts in (terms.at(p) for p in SHARES)
    )
