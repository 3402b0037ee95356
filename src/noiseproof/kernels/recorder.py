"""Run the scalar functions of a loss on a recorder instead of a tensor, so that a kernel can run them itself.

A loss is a few operations on a few numbers per row. As torch calls each of them is a kernel of its own;
recorded, they become a short program that one kernel runs at the end of every row. What the recorder does not
support (sums over the batch, torch.func) raises :class:`UnrecordableError`, and the loss runs as torch calls.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import torch


class Operation(IntEnum):
    """Operations of a program; the kernels use the same numbers."""

    CONSTANT = 0
    NEGATIVE = 1
    ADD = 2
    SUBTRACT = 3
    MULTIPLY = 4
    DIVIDE = 5
    EXP = 6
    EXPM1 = 7
    LOG = 8
    LOG1P = 9
    SIGMOID = 10
    LOGSIGMOID = 11
    SQRT = 12
    ABSOLUTE = 13
    POWER = 14
    MAXIMUM = 15
    MINIMUM = 16
    GREATER = 17
    GREATER_EQUAL = 18
    EQUAL = 19
    WHERE = 20
    AND = 21
    NOT = 22
    TABLE = 23


CONDITIONS = frozenset(
    {Operation.GREATER, Operation.GREATER_EQUAL, Operation.EQUAL, Operation.AND, Operation.NOT}
)
"""Operations whose result is boolean; arithmetic on two booleans differs from arithmetic on numbers."""
WIDTH = 4
"""Numbers per instruction: the operation and up to three registers, or a constant."""


class UnrecordableError(Exception):
    """The loss uses an operation that programs do not have."""


class Program(NamedTuple):
    """Instructions as one flat tuple, and the registers that hold the results."""

    code: tuple[float, ...]
    outputs: tuple[int, ...]


class Tape:
    """Instructions so far; equal ones are written once."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.known: dict[tuple[float, ...], int] = {}
        self.tables: list[torch.Tensor] = []

    def write(self, operation: Operation, a: float = 0, b: float = 0, c: float = 0) -> Recorded:
        instruction = (int(operation), a, b, c)
        if instruction not in self.known:
            self.known[instruction] = self.inputs + len(self.known)
        return Recorded(self, self.known[instruction], operation in CONDITIONS)

    def constant(self, number: float) -> Recorded:
        number = float(number)
        if number != number or number in (float("inf"), float("-inf")):
            raise UnrecordableError(f"the constant {number}")
        return self.write(Operation.CONSTANT, number)

    def table(self, position: Recorded, table: torch.Tensor) -> Recorded:
        """A lookup in rows (constant, linear, square, cube), one cubic per integer position."""
        number = next((k for k, known in enumerate(self.tables) if known is table), len(self.tables))
        if number == len(self.tables):
            self.tables.append(table)
        return self.write(Operation.TABLE, position.number, number)

    def register(self, thing: object) -> int:
        """The register of a recorded value, or of a plain number."""
        if isinstance(thing, Recorded):
            return thing.number
        if isinstance(thing, (bool, int, float)):
            return self.constant(thing).number
        raise UnrecordableError(f"a {type(thing).__name__} among the operands")

    def program(self, *results: object) -> Program:
        """The program that computes the results, which may be recorded values or plain numbers."""
        outputs = tuple(self.register(result) for result in results)
        return Program(tuple(number for instruction in self.known for number in instruction), outputs)


class Recorded:
    """Stands for a tensor of one number or boolean per row; operations on it are recorded, not computed."""

    device = torch.device("meta")

    def __init__(self, tape: Tape, number: int, is_condition: bool = False) -> None:
        self.tape = tape
        self.number = number
        self.dtype = torch.bool if is_condition else torch.float32

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        return record_call(getattr(function, "__name__", ""), args, kwargs or {})

    def __getattr__(self, name: str) -> Callable[..., Recorded]:
        if name not in RULES:
            raise UnrecordableError(f"the attribute {name}")
        if name == "where":  # x.where(condition, other) has the condition second
            return lambda condition, other: record_call(name, (condition, self, other), {})
        return lambda *args, **kwargs: record_call(name, (self, *args), kwargs)

    def __bool__(self) -> bool:
        raise UnrecordableError("control flow that depends on values")

    __float__ = __int__ = __len__ = __iter__ = __bool__  # type: ignore[assignment]
    __hash__ = object.__hash__


def _operator(name: str) -> Callable[..., Any]:
    def run(self: Recorded, *others: object) -> Any:
        return record_call(name, (self, *others), {})

    return run


for _symbol, _name in {
    **{f"__{n}__": n for n in ("neg", "add", "sub", "mul", "pow", "gt", "ge", "lt", "le", "eq", "ne")},
    "__truediv__": "div",
    "__radd__": "add",
    "__rmul__": "mul",
    "__rsub__": "rsub",
    "__rtruediv__": "rdiv",
    "__rpow__": "rpow",
    "__abs__": "abs",
    "__and__": "logical_and",
    "__or__": "logical_or",
    "__invert__": "logical_not",
}.items():
    setattr(Recorded, _symbol, _operator(_name))


MAX_INTEGER_POWER = 64
LOGICAL = frozenset({"logical_and", "logical_or", "logical_not"})
CONVERTED = frozenset({"to", "float", "detach", "clone", "contiguous"})
PRODUCTS = frozenset({"mul", "multiply"})
MIXED = PRODUCTS | {"add", "div", "divide", "true_divide", "rdiv"}
"""Operations that promote (bool, float) to float."""

Rule = Callable[..., Recorded]


def record_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record one call of the torch function of this name."""
    if name not in RULES:
        raise UnrecordableError(f"torch's {name or 'unnamed function'}")
    recorded = next((a for a in (*args, *kwargs.values()) if isinstance(a, Recorded)), None)
    if recorded is None:
        raise UnrecordableError(f"{name} without a recorded operand")
    if name in PRODUCTS and all(map(_is_condition, args)):
        name = "logical_and"
    _check_conditions(name, args)
    return RULES[name](recorded.tape, *args, **kwargs)


def _is_condition(operand: object) -> bool:
    return isinstance(operand, bool) or (isinstance(operand, Recorded) and operand.dtype is torch.bool)


def _check_conditions(name: str, args: tuple[Any, ...]) -> None:
    """Refuse booleans where a program would treat them as numbers, and numbers where torch expects booleans.

    ``(p > 0.3) + (p > 0.6)`` is boolean in torch, hence at most 1; as numbers it could be 2.
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
    """A rule that passes its operands to the instruction in order."""

    def rule(tape: Tape, *operands: object) -> Recorded:
        if len(operands) != arity:
            raise UnrecordableError(f"{operation.name.lower()} of {len(operands)} operands")
        return tape.write(operation, *(tape.register(operand) for operand in operands))

    return rule


def _same(tape: Tape, value: Recorded) -> Recorded:
    return value


def _to(tape: Tape, value: Recorded, dtype: object = torch.float32) -> Recorded:
    """Booleans become 0 or 1; numbers are unchanged."""
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
    """Integer powers by squaring, which also holds for negative bases."""
    if not isinstance(exponent, (int, float)) or exponent != int(exponent):
        return tape.write(Operation.POWER, tape.register(base), tape.register(exponent))
    if abs(exponent) > MAX_INTEGER_POWER:
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
