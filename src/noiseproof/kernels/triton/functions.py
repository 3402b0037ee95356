# mypy: ignore-errors
"""Triton: the operations of a recorded program, accurate to a few units in the last place."""

import triton
import triton.language as tl

from ..recorder import WIDTH as _WIDTH
from ..recorder import Operation

WIDTH = tl.constexpr(_WIDTH)
CONSTANT = tl.constexpr(int(Operation.CONSTANT))
NEGATIVE = tl.constexpr(int(Operation.NEGATIVE))
ADD = tl.constexpr(int(Operation.ADD))
SUBTRACT = tl.constexpr(int(Operation.SUBTRACT))
MULTIPLY = tl.constexpr(int(Operation.MULTIPLY))
DIVIDE = tl.constexpr(int(Operation.DIVIDE))
EXP = tl.constexpr(int(Operation.EXP))
EXPM1 = tl.constexpr(int(Operation.EXPM1))
LOG = tl.constexpr(int(Operation.LOG))
LOG1P = tl.constexpr(int(Operation.LOG1P))
SIGMOID = tl.constexpr(int(Operation.SIGMOID))
LOGSIGMOID = tl.constexpr(int(Operation.LOGSIGMOID))
SQRT = tl.constexpr(int(Operation.SQRT))
ABSOLUTE = tl.constexpr(int(Operation.ABSOLUTE))
POWER = tl.constexpr(int(Operation.POWER))
MAXIMUM = tl.constexpr(int(Operation.MAXIMUM))
MINIMUM = tl.constexpr(int(Operation.MINIMUM))
GREATER = tl.constexpr(int(Operation.GREATER))
GREATER_EQUAL = tl.constexpr(int(Operation.GREATER_EQUAL))
EQUAL = tl.constexpr(int(Operation.EQUAL))
WHERE = tl.constexpr(int(Operation.WHERE))
AND = tl.constexpr(int(Operation.AND))
TABLE = tl.constexpr(int(Operation.TABLE))

LOG2_E = tl.constexpr(1.4426950408889634)
LN2_HIGH = tl.constexpr(0.693145751953125)
LN2_LOW = tl.constexpr(1.42860682030941723212e-6)
MAX_POSITION = tl.constexpr(1e30)
"""Positions in a table are clamped to this: beyond it 0 times infinity would be nan."""


@triton.jit
def fast_exp(x):
    """One multiplication and the hardware's exp2; results below 1e-38 are 0."""
    return tl.exp2(x * LOG2_E)


@triton.jit
def fast_expm1(x, raised):
    """exp(x) - 1, where ``raised`` is exp(x); ``raised - 1`` would lose all digits where x is near 0."""
    series = x * (1.0 + x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120)))))
    return tl.where(tl.abs(x) < 0.125, series, raised - 1.0)


@triton.jit
def exp(x):
    """Two-step range reduction: the hardware's exp2 alone loses digits as |x| grows."""
    bounded = tl.minimum(tl.maximum(x, -120.0), 120.0)
    whole = tl.floor(bounded * LOG2_E + 0.5)
    rest = (bounded - whole * LN2_HIGH) - whole * LN2_LOW
    half = tl.floor(whole * 0.5)
    raised = tl.exp2(rest * LOG2_E) * tl.exp2(half) * tl.exp2(whole - half)
    return tl.where(x == x, raised, x)


@triton.jit
def log1p(x):
    up = 1.0 + x
    return tl.where(up == 1.0, x, tl.log(up) * (x / tl.where(up == 1.0, 1.0, up - 1.0)))


@triton.jit
def expm1(x):
    raised = exp(x)
    less = raised - 1.0
    inexact = (raised == 1.0) | (less == -1.0) | (raised > 1e30)
    corrected = less * (x / tl.log(tl.where(inexact, 2.0, raised)))
    return tl.where(raised == 1.0, x, tl.where(inexact, less, corrected))


@triton.jit
def sigmoid(x):
    raised = exp(-tl.abs(x))
    return tl.where(x >= 0, 1.0, raised) / (1.0 + raised)


@triton.jit
def logsigmoid(x):
    return tl.minimum(x, 0.0) - log1p(exp(-tl.abs(x)))


@triton.jit
def power(base, exponent):
    """A real power: nan for negative bases."""
    return tl.where(base == 0.0, tl.where(exponent > 0, 0.0, float("inf")), exp(exponent * tl.log(base)))


@triton.jit
def function_of_one(op: tl.constexpr, x):
    if op == NEGATIVE:
        return -x
    elif op == EXP:
        return exp(x)
    elif op == EXPM1:
        return expm1(x)
    elif op == LOG:
        return tl.log(x)
    elif op == LOG1P:
        return log1p(x)
    elif op == SIGMOID:
        return sigmoid(x)
    elif op == LOGSIGMOID:
        return logsigmoid(x)
    elif op == SQRT:
        return tl.sqrt(x)
    elif op == ABSOLUTE:
        return tl.abs(x)
    else:
        return x == 0


@triton.jit
def function_of_two(op: tl.constexpr, a, b):
    if op == ADD:
        return a + b
    elif op == SUBTRACT:
        return a - b
    elif op == MULTIPLY:
        return a * b
    elif op == DIVIDE:
        return a / b
    elif op == POWER:
        return power(a, b)
    elif op == MAXIMUM:
        return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif op == MINIMUM:
        return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif op == GREATER:
        return a > b
    elif op == GREATER_EQUAL:
        return a >= b
    elif op == EQUAL:
        return a == b
    else:
        return a & b


@triton.jit
def look_up(tables, position, first: tl.constexpr, last: tl.constexpr):
    """The cubic of the integer position, between cells ``first`` and ``last``; the end cells extrapolate."""
    position = tl.maximum(position, -MAX_POSITION, propagate_nan=tl.PropagateNan.ALL)
    position = tl.minimum(position, MAX_POSITION, propagate_nan=tl.PropagateNan.ALL)
    inside = tl.where(position == position, position, 0.0)
    cell = tl.minimum(tl.maximum(inside, 0.0), last - first).to(tl.int32)
    within = position - cell.to(tl.float32)
    place = tables + (first + cell) * 4
    cubic = within * (tl.load(place + 2) + within * tl.load(place + 3))
    return tl.load(place) + within * (tl.load(place + 1) + cubic)


@triton.jit
def instruction(registers, op: tl.constexpr, a: tl.constexpr, b: tl.constexpr, c: tl.constexpr, tables=None):
    if op == CONSTANT:
        return tl.full(registers[0].shape, a, tl.float32)
    elif op == TABLE:
        return look_up(tables, registers[a], b, c)
    elif op == WHERE:
        return tl.where(registers[a], registers[b], registers[c])
    elif (op >= ADD and op <= DIVIDE) or (op >= POWER and op <= AND):
        return function_of_two(op, registers[a], registers[b])
    else:
        return function_of_one(op, registers[a])


@triton.jit
def run(registers, code: tl.constexpr, tables=None):
    """All registers after the program; the first are its inputs. ``tables`` are cells of four numbers."""
    for i in tl.static_range(len(code) // WIDTH):
        registers = registers + (  # noqa: RUF005 -- Triton has no unpacking
            instruction(
                registers,
                code[WIDTH * i],
                code[WIDTH * i + 1],
                code[WIDTH * i + 2],
                code[WIDTH * i + 3],
                tables,
            ),
        )
    return registers
