r"""What a class program gives for a small p: :math:`a_0+a_1p+a_2p^2+(b_0+b_1p+b_2p^2)\log p`.

Sums of such terms over all classes need no p, only sums that one pass over the logits leaves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

from .class_program import Known
from .recorder import WIDTH, Operation, Program

LARGEST_EXPONENT = 80.0


class Sums(NamedTuple):
    """How sums over many classes follow from series, for losses of which every class has its part."""

    value: Series
    ratio: Series
    reach: float
    """What a series leaves out of a class, at most, over p squared and over what a class without p adds."""


class Series(NamedTuple):
    """Coefficients of 1, p and p squared, then of the same times log p."""

    a0: float = 0.0
    a1: float = 0.0
    a2: float = 0.0
    b0: float = 0.0
    b1: float = 0.0
    b2: float = 0.0

    def times(self, other: Series) -> Series:
        if any(self[3:]) and any(other[3:]):
            raise ValueError("a square of log p")
        logs = zip(_product(self[:3], other[3:]), _product(self[3:], other[:3]), strict=True)
        return Series(*_product(self[:3], other[:3]), *(x + y for x, y in logs))

    def plus(self, other: Series, factor: float = 1.0) -> Series:
        return Series(*(x + factor * y for x, y in zip(self, other, strict=True)))

    def through(self, value: float, slope: float, curvature: float) -> Series:
        """A function of this by its value and derivatives at ``a0``."""
        if any(self[3:]):
            raise ValueError("a function of log p")
        step = self._replace(a0=0.0)
        return Series(value).plus(step, slope).plus(step.times(step), curvature / 2)


def _product(left: tuple[float, ...], right: tuple[float, ...]) -> list[float]:
    return [sum(left[k] * right[n - k] for k in range(n + 1)) for n in range(3)]


START = {
    Known.MARGIN: Series(a1=1.0, a2=0.5, b0=1.0),
    Known.P: Series(a1=1.0),
    Known.REST: Series(a0=1.0, a1=-1.0),
    Known.LOG_P: Series(b0=1.0),
    Known.LOG_REST: Series(a1=-1.0, a2=-0.5),
}


def _power(base: Series, exponent: Series) -> Series:
    x, c = base.a0, exponent.a0
    if any(exponent[1:]):
        raise ValueError("an exponent that depends on p")
    return base.through(x**c, c * x ** (c - 1), c * (c - 1) * x ** (c - 2))


def _exp(x: Series) -> Series:
    if x.a0 > LARGEST_EXPONENT:
        raise ValueError("a large exponential")
    return x.through(*[math.exp(x.a0)] * 3)


FUNCTIONS: dict[Operation, Callable[..., Series]] = {
    Operation.NEGATIVE: lambda x: Series().plus(x, -1.0),
    Operation.ADD: Series.plus,
    Operation.SUBTRACT: lambda x, y: x.plus(y, -1.0),
    Operation.MULTIPLY: Series.times,
    Operation.DIVIDE: lambda x, y: x.times(y.through(1 / y.a0, -1 / y.a0**2, 2 / y.a0**3)),
    Operation.EXP: _exp,
    Operation.EXPM1: lambda x: _exp(x).plus(Series(-1.0)),
    Operation.LOG: lambda x: x.through(math.log(x.a0), 1 / x.a0, -1 / x.a0**2),
    Operation.LOG1P: lambda x: x.through(math.log1p(x.a0), 1 / (1 + x.a0), -1 / (1 + x.a0) ** 2),
    Operation.POWER: _power,
}
TWO = (Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY, Operation.DIVIDE, Operation.POWER)


def series_of(program: Program) -> tuple[Series, Series] | None:
    """Of value and ratio of a class program; None where they are no such series."""
    registers = [START[known] for known in Known]
    try:
        for start in range(0, len(program.code), WIDTH):
            operation, a, b, _ = program.code[start : start + WIDTH]
            if operation == Operation.CONSTANT:
                registers.append(Series(a))
                continue
            read = (a, b) if operation in TWO else (a,)
            registers.append(FUNCTIONS[Operation(int(operation))](*(registers[int(n)] for n in read)))
    except (KeyError, ValueError, ArithmeticError):
        return None
    return registers[program.outputs[0]], registers[program.outputs[1]]


@functools.cache
def sums_of(program: Program) -> Sums | None:
    """None where sums do not grow with the number of classes, or ratios with log p."""
    found = series_of(program)
    if found is None:
        return None
    value, ratio = found
    sizes = max(abs(value.a0), abs(value.b0)), abs(ratio.a0)
    if not min(sizes) or ratio.b0:
        return None
    parts = zip((value, ratio), sizes, strict=True)
    return Sums(value, ratio, max(max(abs(series.a2), abs(series.b2)) / size for series, size in parts))
