"""Run a loss's scalar functions on a recorder instead of a tensor, so that a kernel can run them itself.

A loss is a few operations on a few numbers per row. As torch calls each is a kernel of its own; recorded,
they become a short program that the statistics kernel runs at the end of every row. What the recorder
does not know (sums over the batch, torch.func) raises :class:`UnrecordableError`, and the loss
runs as torch calls.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import torch


class Operation(IntEnum):
    """What a program can do; the kernel has the same numbers."""

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
"""What gives yes or no; with two of these torch reckons otherwise than with numbers."""
WIDTH = 4
"""Numbers per instruction: the operation and up to three registers, or a constant."""


class UnrecordableError(Exception):
    """The loss does something a program cannot."""


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
        """A lookup in rows (constant, linear, square, cube), one cubic per whole position."""
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
        """The tape so far; results may be recorded values or plain numbers."""
        outputs = tuple(self.register(result) for result in results)
        return Program(tuple(number for instruction in self.known for number in instruction), outputs)


class Recorded:
    """A tensor of one number per row, or one yes or no, that is written down rather than computed."""

    device = torch.device("meta")

    def __init__(self, tape: Tape, number: int, is_condition: bool = False) -> None:
        self.tape = tape
        self.number = number
        self.dtype = torch.bool if is_condition else torch.float32

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        from .recorder_rules import record

        return record(getattr(function, "__name__", ""), args, kwargs or {})

    def __getattr__(self, name: str) -> Callable[..., Recorded]:
        from .recorder_rules import knows, record

        if not knows(name):
            raise UnrecordableError(f"the attribute {name}")
        if name == "where":  # the method is called on what holds where the condition does
            return lambda condition, other: record(name, (condition, self, other), {})
        return lambda *args, **kwargs: record(name, (self, *args), kwargs)

    def __bool__(self) -> bool:
        raise UnrecordableError("a decision that depends on values")

    __float__ = __int__ = __len__ = __iter__ = __bool__  # type: ignore[assignment]
    __hash__ = object.__hash__


def _operator(name: str) -> Callable[..., Any]:
    def run(self: Recorded, *others: object) -> Any:
        from .recorder_rules import record

        return record(name, (self, *others), {})

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
