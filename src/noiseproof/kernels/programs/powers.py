r"""Class programs of powers of p: value :math:`v_0+\sum_i v_ip^{q_i}`, ratio :math:`\sum_i c_ip^{q_i}`.

Their sums over all classes need no p, only sums of powers of exp(z - peak), which one pass over the logits
leaves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from .class_program import Known
from .recorder import WIDTH, Operation, Program

MOST_POWERS = 2


class Powers(NamedTuple):
    """Two tuples of factors belong to the exponents: those of the value and those of the ratio."""

    exponents: tuple[float, ...]
    value: tuple[float, ...]
    ratio: tuple[float, ...]
    constant: float
    """The value of a class without p."""


class _Sum(dict[float, float]):
    """Exponents of p and their factors."""

    def plus(self, other: _Sum, factor: float = 1.0) -> _Sum:
        return _Sum({q: self.get(q, 0.0) + factor * other.get(q, 0.0) for q in {**self, **other}})

    def times(self, other: _Sum) -> _Sum:
        found = _Sum()
        for left, x in self.items():
            for right, y in other.items():
                found[left + right] = found.get(left + right, 0.0) + x * y
        return found

    def number(self) -> float:
        """The sum where it is one."""
        if any(self[q] for q in self if q):
            raise ValueError("no number")
        return self.get(0.0, 0.0)


class _Log(float):
    """So many times log p."""


def _multiplied(x: Any, y: Any) -> Any:
    if isinstance(x, _Log) or isinstance(y, _Log):
        log, factor = (x, y) if isinstance(x, _Log) else (y, x)
        return _Log(float(log) * factor.number())
    return x.times(y)


def _power(x: Any) -> _Sum:
    """exp of so many times log p."""
    if not isinstance(x, _Log):
        raise TypeError("exp of something else")
    return _Sum({float(x): 1.0})


RULES: dict[Operation, Callable[..., Any]] = {
    Operation.NEGATIVE: lambda x: _multiplied(x, _Sum({0.0: -1.0})),
    Operation.ADD: lambda x, y: x.plus(y),
    Operation.SUBTRACT: lambda x, y: x.plus(y, -1.0),
    Operation.MULTIPLY: _multiplied,
    Operation.DIVIDE: lambda x, y: _multiplied(x, _Sum({0.0: 1 / y.number()})),
    Operation.EXP: _power,
    Operation.EXPM1: lambda x: _power(x).plus(_Sum({0.0: -1.0})),
}
ONE = (Operation.NEGATIVE, Operation.EXP, Operation.EXPM1)


def _registers(program: Program) -> list[Any]:
    """Sums, multiples of log p, and None for whatever else."""
    start = {Known.P: _Sum({1.0: 1.0}), Known.REST: _Sum({0.0: 1.0, 1.0: -1.0}), Known.LOG_P: _Log(1.0)}
    registers: list[Any] = [start.get(known) for known in Known]
    for place in range(0, len(program.code), WIDTH):
        operation, a, b, _ = program.code[place : place + WIDTH]
        if operation == Operation.CONSTANT:
            registers.append(_Sum({0.0: a}))
            continue
        read = (a,) if operation in ONE else (a, b)
        try:
            found = RULES[Operation(int(operation))](*(registers[int(number)] for number in read))
        except (KeyError, ValueError, TypeError, AttributeError, ArithmeticError):
            found = None
        registers.append(found)
    return registers


@functools.cache
def powers_of(program: Program) -> Powers | None:
    """None where the program is no such sum, has too many powers, or a ratio that p = 0 leaves."""
    registers = _registers(program)
    value, ratio = (registers[number] for number in program.outputs[:2])
    if not isinstance(value, _Sum) or not isinstance(ratio, _Sum) or ratio.get(0.0):
        return None
    exponents = tuple(sorted(q for q in {**value, **ratio} if q and (value.get(q) or ratio.get(q))))
    if not 0 < len(exponents) <= MOST_POWERS or exponents[0] < 0:
        return None
    by_value, by_ratio = (tuple(part.get(q, 0.0) for q in exponents) for part in (value, ratio))
    return Powers(exponents, by_value, by_ratio, value.get(0.0, 0.0))
