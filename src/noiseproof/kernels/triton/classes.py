# mypy: ignore-errors
"""Triton: a recorded program run for every class, where each operation costs as much as a read.

Errors of the fast functions are small beside 1, not beside their result, which is what sums over a row and
the gradient's largest entry ask for. A class that has most of the row goes through ``program``.
"""

import triton
import triton.language as tl

from ..programs.class_program import Known
from ..programs.recorder import WIDTH as _WIDTH
from .program import (
    DIVIDE,
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    LOGSIGMOID,
    POWER,
    SIGMOID,
    fast_exp,
    instruction,
    logsigmoid,
    run,
    sigmoid,
)

WIDTH = tl.constexpr(_WIDTH)
REST = tl.constexpr(int(Known.REST))
LOG_SMALL = tl.constexpr(-5.545177444479562)
"""log p below which (1/256) powers of 1 - p are three terms of their series, as exact as float32 adds up."""
QUIET = tl.constexpr(-1e15)
"""log p of a masked class: no weight times this is 0."""


@triton.jit
def fast_log1p(x):
    series = x * (1.0 - x * (0.5 - x * (1.0 / 3 - x * (0.25 - x * (0.2 - x * (1.0 / 6))))))
    return tl.where(tl.abs(x) < 0.0625, series, tl.log(1.0 + x))


@triton.jit
def fast_expm1(x):
    series = x * (1.0 + x * (0.5 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120)))))
    return tl.where(tl.abs(x) < 0.125, series, fast_exp(x) - 1.0)


@triton.jit
def fast_function(op: tl.constexpr, x):
    if op == EXP:
        return fast_exp(x)
    elif op == EXPM1:
        return fast_expm1(x)
    elif op == LOG:
        return tl.log(x)
    elif op == LOG1P:
        return fast_log1p(x)
    elif op == SIGMOID:
        return 1.0 / (1.0 + fast_exp(-x))
    else:
        return tl.minimum(x, 0.0) - fast_log1p(fast_exp(-tl.abs(x)))


@triton.jit
def power_of_rest(p, c):
    """(1 - p)^c of a small p."""
    return 1.0 - p * (c - (c * (c - 1.0) * 0.5) * p)


@triton.jit
def class_instruction(
    registers, op: tl.constexpr, a: tl.constexpr, b: tl.constexpr, c: tl.constexpr, SMALL: tl.constexpr
):
    if op == POWER and a == REST and SMALL:
        return power_of_rest(registers[1], registers[b])
    elif op == DIVIDE and b == REST and SMALL:
        return registers[a] * (1.0 + registers[1] * (1.0 + registers[1]))
    elif op == POWER:
        base = registers[a]
        return tl.where(base == 0.0, 0.0, fast_exp(registers[b] * tl.log(base)))
    elif op >= EXP and op <= LOGSIGMOID:
        return fast_function(op, registers[a])
    else:
        return instruction(registers, op, a, b, c)


@triton.jit
def terms_of_classes(log_p, p, CODE: tl.constexpr, RESULTS: tl.constexpr, SMALL: tl.constexpr):
    """Value and emphasis over 1 - p of every class; classes of more than three quarters are not for here."""
    log_rest = -p * (1.0 + p * (0.5 + p * (1.0 / 3))) if SMALL else fast_log1p(-p)
    registers = (log_p - log_rest, p, 1.0 - p, log_p, log_rest)
    for i in tl.static_range(len(CODE) // WIDTH):
        registers = registers + (  # noqa: RUF005 -- Triton knows no unpacking
            class_instruction(
                registers,
                CODE[WIDTH * i],
                CODE[WIDTH * i + 1],
                CODE[WIDTH * i + 2],
                CODE[WIDTH * i + 3],
                SMALL,
            ),
        )
    return registers[RESULTS[0]], registers[RESULTS[1]]


@triton.jit
def exact_terms(margin, CODE: tl.constexpr, RESULTS: tl.constexpr):
    """Value and emphasis at one margin per row."""
    start = (margin, sigmoid(margin), sigmoid(-margin), logsigmoid(margin), logsigmoid(-margin))
    registers = run(start, CODE)
    return registers[RESULTS[0]], registers[RESULTS[2]]
