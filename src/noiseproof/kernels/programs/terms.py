r"""Class programs as sums of terms :math:`c\,p^q\log(p)^j`."""

from __future__ import annotations

import math
from collections.abc import Callable

from .class_program import Known
from .recorder import WIDTH, Operation, Program
from .replay import OPERANDS

Key = tuple[float, int]
"""Exponents of p and of log p."""
ONE, LOG, LINEAR = (0.0, 0), (0.0, 1), (1.0, 0)


class Terms(dict[Key, float]):
    """Factors by exponents."""

    def plus(self, other: Terms, factor: float = 1.0) -> Terms:
        return Terms({key: self.get(key, 0.0) + factor * other.get(key, 0.0) for key in {**self, **other}})

    def times(self, other: Terms) -> Terms:
        found = Terms()
        for (q, j), x in self.items():
            for (r, i), y in other.items():
                found[q + r, j + i] = found.get((q + r, j + i), 0.0) + x * y
        return found

    def only(self, key: Key) -> float:
        """The factor of the only term there may be."""
        if self.used() - {key}:
            raise ValueError("something else")
        return self.get(key, 0.0)

    def over(self, other: Terms) -> Terms:
        return self.times(Terms({ONE: 1 / other.only(ONE)}))

    def raised(self) -> Terms:
        """exp of so many times log p."""
        return Terms({(self.only(LOG), 0): 1.0})

    def used(self) -> set[Key]:
        return {key for key, factor in self.items() if factor}

    def at(self, p: float) -> list[float]:
        return [factor * p**q * math.log(p) ** j for (q, j), factor in self.items()]


NUMBER = Terms({ONE: 1.0})
START = {
    Known.P: Terms({LINEAR: 1.0}),
    Known.REST: Terms({ONE: 1.0, LINEAR: -1.0}),
    Known.LOG_P: Terms({LOG: 1.0}),
}
RULES: dict[Operation, Callable[..., Terms]] = {
    Operation.NEGATIVE: lambda x: Terms().plus(x, -1.0),
    Operation.ADD: Terms.plus,
    Operation.SUBTRACT: lambda x, y: x.plus(y, -1.0),
    Operation.MULTIPLY: Terms.times,
    Operation.DIVIDE: Terms.over,
    Operation.EXP: Terms.raised,
    Operation.EXPM1: lambda x: x.raised().plus(NUMBER, -1.0),
}


def terms_of(program: Program) -> tuple[Terms, Terms] | None:
    """Value and ratio of a class program; None where one of them is no such sum."""
    registers = [START.get(known) for known in Known]
    for place in range(0, len(program.code), WIDTH):
        number, *words = program.code[place : place + WIDTH]
        operation = Operation(int(number))
        if operation is Operation.CONSTANT:
            registers.append(Terms({ONE: words[0]}))
            continue
        read = [registers[int(word)] for word in words[: OPERANDS.get(operation, 1)]]
        registers.append(_applied(operation, read))
    value, ratio = (registers[number] for number in program.outputs[:2])
    return None if value is None or ratio is None else (value, ratio)


def _applied(operation: Operation, read: list[Terms | None]) -> Terms | None:
    if operation not in RULES or None in read:
        return None
    try:
        return RULES[operation](*read)
    except (ValueError, ArithmeticError):
        return None
