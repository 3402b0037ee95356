"""What torch's functions mean as instructions of a recorded program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .recorder import Operation, Recorded, Tape, UnrecordableError

LARGEST_WHOLE_POWER = 64
LOGICAL = frozenset({"logical_and", "logical_or", "logical_not"})
CONVERTED = frozenset({"to", "float", "detach", "clone", "contiguous"})
PRODUCTS = frozenset({"mul", "multiply"})
MIXED = PRODUCTS | {"add", "div", "divide", "true_divide", "rdiv"}
"""Of a condition and a number these give a number."""

Rule = Callable[..., Recorded]


def record(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Write down one call of torch's function of this name."""
    if not knows(name):
        raise UnrecordableError(f"torch's {name or 'unnamed function'}")
    recorded = next((a for a in (*args, *kwargs.values()) if isinstance(a, Recorded)), None)
    if recorded is None:
        raise UnrecordableError(f"{name} without a recorded operand")
    if name in PRODUCTS and all(map(_is_condition, args)):
        name = "logical_and"
    _check_conditions(name, args)
    return RULES[name](recorded.tape, *args, **kwargs)


def knows(name: str) -> bool:
    return name in RULES


def _is_condition(operand: object) -> bool:
    return isinstance(operand, bool) or (isinstance(operand, Recorded) and operand.dtype is torch.bool)


def _check_conditions(name: str, args: tuple[Any, ...]) -> None:
    """Where torch has conditions a program must not take numbers, and the other way round.

    ``(p > 0.3) + (p > 0.6)`` is yes or no for torch, at most 1; two numbers would add up to 2.
    """
    are = [_is_condition(operand) for operand in args]
    if name in LOGICAL:
        fit = all(are)
    elif name == "where":
        fit = are[0] and not all(are[1:])
    else:
        fit = not any(are) or name in CONVERTED or (name in MIXED and not all(are))
    if not fit:
        raise UnrecordableError(f"{name} of {'conditions' if any(are) else 'numbers'}")


def _plain(operation: Operation, arity: int = 1) -> Rule:
    """A function whose operands are the instruction's registers, in order."""

    def rule(tape: Tape, *operands: object) -> Recorded:
        if len(operands) != arity:
            raise UnrecordableError(f"{operation.name.lower()} of {len(operands)} operands")
        return tape.write(operation, *(tape.register(operand) for operand in operands))

    return rule


def _same(tape: Tape, value: Recorded) -> Recorded:
    return value


def _to(tape: Tape, value: Recorded, dtype: object = torch.float32) -> Recorded:
    """Conditions become 0 or 1; numbers stay what they are."""
    if dtype is not torch.float32:
        raise UnrecordableError(f"a conversion to {dtype}")
    return _multiply(tape, value, 1.0)


def _like(number: float | None) -> Rule:
    def rule(tape: Tape, value: Recorded, fill: float | None = None) -> Recorded:
        return tape.constant(fill if number is None else number)  # type: ignore[arg-type]

    return rule


def _add(tape: Tape, left: Any, right: Any, *, alpha: float = 1) -> Recorded:
    right = right if alpha == 1 else _multiply(tape, right, alpha)
    return tape.write(Operation.ADD, tape.register(left), tape.register(right))


def _sub(tape: Tape, left: Any, right: Any, *, alpha: float = 1) -> Recorded:
    right = right if alpha == 1 else _multiply(tape, right, alpha)
    return tape.write(Operation.SUBTRACT, tape.register(left), tape.register(right))


_multiply = _plain(Operation.MULTIPLY, 2)
_divide = _plain(Operation.DIVIDE, 2)
_greater = _plain(Operation.GREATER, 2)
_greater_equal = _plain(Operation.GREATER_EQUAL, 2)
_equal = _plain(Operation.EQUAL, 2)
_maximum, _minimum = _plain(Operation.MAXIMUM, 2), _plain(Operation.MINIMUM, 2)
_and, _not = _plain(Operation.AND, 2), _plain(Operation.NOT)


def _pow(tape: Tape, base: Any, exponent: Any) -> Recorded:
    """Whole powers by squaring, which is exact for negative bases too."""
    if not isinstance(exponent, (int, float)) or exponent != int(exponent):
        return tape.write(Operation.POWER, tape.register(base), tape.register(exponent))
    if abs(exponent) > LARGEST_WHOLE_POWER:
        raise UnrecordableError(f"the power {exponent}")
    result: Any = None
    square, left = base, abs(int(exponent))
    while left:
        if left % 2:
            result = square if result is None else _multiply(tape, result, square)
        left //= 2
        square = _multiply(tape, square, square) if left else square
    result = tape.constant(1.0) if result is None else result
    return result if exponent >= 0 else _divide(tape, 1.0, result)


def _clamp(tape: Tape, value: Any, min: Any = None, max: Any = None) -> Recorded:  # noqa: A002
    value = value if min is None else _maximum(tape, value, min)
    return value if max is None else _minimum(tape, value, max)


def _addcmul(tape: Tape, start: Any, left: Any, right: Any, *, value: float = 1) -> Recorded:
    return _add(tape, start, _multiply(tape, left, right), alpha=value)


RULES: dict[str, Rule] = {
    **{name: _plain(Operation.NEGATIVE) for name in ("neg", "negative")},
    **dict.fromkeys(("mul", "multiply"), _multiply),
    **dict.fromkeys(("div", "divide", "true_divide"), _divide),
    **{name: _plain(Operation.LOGSIGMOID) for name in ("logsigmoid", "log_sigmoid")},
    **{name: _plain(Operation.ABSOLUTE) for name in ("abs", "absolute")},
    **dict.fromkeys(("detach", "clone", "contiguous"), _same),
    **dict.fromkeys(("sub", "subtract"), _sub),
    **dict.fromkeys(("pow", "float_power"), _pow),
    "add": _add,
    "to": _to,
    "float": _to,
    "rsub": lambda tape, a, b, *, alpha=1: _sub(tape, b, a, alpha=alpha),
    "rdiv": lambda tape, a, b: _divide(tape, b, a),
    "rpow": lambda tape, a, b: _pow(tape, b, a),
    "reciprocal": lambda tape, a: _divide(tape, 1.0, a),
    "square": lambda tape, a: _multiply(tape, a, a),
    "exp": _plain(Operation.EXP),
    "expm1": _plain(Operation.EXPM1),
    "log": _plain(Operation.LOG),
    "log1p": _plain(Operation.LOG1P),
    "sigmoid": _plain(Operation.SIGMOID),
    "sqrt": _plain(Operation.SQRT),
    "softplus": lambda tape, a: RULES["neg"](tape, RULES["logsigmoid"](tape, RULES["neg"](tape, a))),
    "relu": lambda tape, a: _maximum(tape, a, 0.0),
    "maximum": _maximum,
    "minimum": _minimum,
    "clamp": _clamp,
    "clamp_min": _maximum,
    "clamp_max": _minimum,
    "addcmul": _addcmul,
    "where": _plain(Operation.WHERE, 3),
    "gt": _greater,
    "ge": _greater_equal,
    "lt": lambda tape, a, b: _greater(tape, b, a),
    "le": lambda tape, a, b: _greater_equal(tape, b, a),
    "eq": _equal,
    "ne": lambda tape, a, b: _not(tape, _equal(tape, a, b)),
    "logical_and": _and,
    "logical_not": _not,
    "logical_or": lambda tape, a, b: _not(tape, _and(tape, _not(tape, a), _not(tape, b))),
    "full_like": _like(None),
    "zeros_like": _like(0.0),
    "ones_like": _like(1.0),
}
