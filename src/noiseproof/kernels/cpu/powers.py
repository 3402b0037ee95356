r"""Class programs that are sums of a number, log p, p and one more power of p.

Then sums over all classes need no p, which is known only after one look at the row: with e = exp(z - peak),
:math:`\sum_k\pi_kp_k^q` is :math:`\sum_k\pi_ke_k^q` over the q-th power of :math:`\sum_ke_k`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..programs.class_program import Known
from ..programs.recorder import WIDTH, Operation, Program
from .classes import operands

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


class _Terms(dict[tuple[float, int], float]):
    """Factors of p^q log(p)^j by (q, j)."""

    def plus(self, other: _Terms, factor: float = 1.0) -> _Terms:
        return _Terms({key: self.get(key, 0.0) + factor * other.get(key, 0.0) for key in {**self, **other}})

    def times(self, other: _Terms) -> _Terms:
        found = _Terms()
        for (q, j), x in self.items():
            for (r, i), y in other.items():
                found[q + r, j + i] = found.get((q + r, j + i), 0.0) + x * y
        return found

    def only(self, key: tuple[float, int]) -> float:
        """The factor of the only term there may be."""
        if any(self[other] for other in self if other != key):
            raise ValueError("something else")
        return self.get(key, 0.0)

    def over(self, other: _Terms) -> _Terms:
        return self.times(_Terms({ONE: 1 / other.only(ONE)}))

    def raised(self) -> _Terms:
        """exp of so many times log p."""
        return _Terms({(self.only(LOG), 0): 1.0})

    def at(self, p: float) -> list[float]:
        return [factor * p**q * math.log(p) ** j for (q, j), factor in self.items()]


ONE, LOG, LINEAR = (0.0, 0), (0.0, 1), (1.0, 0)
NUMBER = _Terms({ONE: 1.0})
START = {Known.P: _Terms({LINEAR: 1.0}), Known.REST: _Terms({ONE: 1.0, LINEAR: -1.0})}
START[Known.LOG_P] = _Terms({LOG: 1.0})
RULES: dict[Operation, Callable[..., _Terms]] = {
    Operation.NEGATIVE: lambda x: _Terms().plus(x, -1.0),
    Operation.ADD: _Terms.plus,
    Operation.SUBTRACT: lambda x, y: x.plus(y, -1.0),
    Operation.MULTIPLY: _Terms.times,
    Operation.DIVIDE: _Terms.over,
    Operation.EXP: _Terms.raised,
    Operation.EXPM1: lambda x: x.raised().plus(NUMBER, -1.0),
}


def powers_of(program: Program) -> Powers | None:
    """None where the program is no such sum, or one whose terms cancel."""
    registers = _registers(program)
    value, ratio = (registers[number] for number in program.outputs[:2])
    if value is None or ratio is None or ratio.get(LOG) or not (_is_stable(value) and _is_stable(ratio)):
        return None
    used = {key for key, factor in [*value.items(), *ratio.items()] if factor}
    others = sorted(used - {ONE, LOG, LINEAR})
    if len(others) > 1 or any(q < 0 or j for q, j in others):
        return None
    keys = (ONE, LOG, LINEAR, *(others or [(math.nan, 0)]))
    by_value, by_ratio = (tuple(terms.get(key, 0.0) for key in keys) for terms in (value, ratio))
    return Powers(others[0][0] if others else 0.0, by_value, by_ratio)  # type: ignore[arg-type]


def _registers(program: Program) -> list[_Terms | None]:
    """What every register holds; None for whatever is no such sum."""
    registers = [START.get(known) for known in Known]
    for place in range(0, len(program.code), WIDTH):
        step = program.code[place : place + WIDTH]
        operation = Operation(int(step[0]))
        read = [registers[number] for number in operands(step)]
        if operation is Operation.CONSTANT:
            registers.append(_Terms({ONE: step[1]}))
        elif operation not in RULES or None in read:
            registers.append(None)
        else:
            registers.append(_applied(RULES[operation], read))
    return registers


def _applied(rule: Callable[..., _Terms], read: list[_Terms | None]) -> _Terms | None:
    try:
        return rule(*read)
    except (ValueError, ArithmeticError):
        return None


def _is_stable(terms: _Terms) -> bool:
    return all(
        abs(sum(parts)) >= LEAST_LEFT * sum(map(abs, parts)) for parts in (terms.at(p) for p in SHARES)
    )
