"""A loss of the margin as a program run for every class, for sums over all classes of a row.

A row has one margin but C class margins, so here every operation counts. Sigmoids of the margin are numbers
the kernel has at hand, and the emphasis is wanted over 1 - p, which most losses have as a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from .limit import is_worth_a_kernel
from .recorder import WIDTH, Operation, Program, Recorded, Tape
from .replay import OPERANDS

Evaluate = Callable[[Any], tuple[Any, Any]]
"""The margin to value and emphasis."""


class Known(IntEnum):
    """Registers a class program starts with."""

    MARGIN = 0
    P = 1
    REST = 2
    LOG_P = 3
    LOG_REST = 4


class ClassTape(Tape):
    """Writes no operation whose result the kernel knows."""

    def __init__(self) -> None:
        super().__init__(len(Known))

    def write(self, operation: Operation, a: float = 0, b: float = 0, c: float = 0) -> Recorded:
        known = self._known(operation, a)
        if known is not None:
            return Recorded(self, known)
        read = self.instruction(a) if operation is Operation.EXP else None
        if read is not None and read[0] == Operation.MULTIPLY and Known.LOG_REST in read[1:3]:
            power = read[2] if read[1] == Known.LOG_REST else read[1]
            return super().write(Operation.POWER, int(Known.REST), power)
        return super().write(operation, a, b, c)

    def _known(self, operation: Operation, a: float) -> int | None:
        opposite = self.instruction(a) == (Operation.NEGATIVE, Known.MARGIN, 0, 0)
        if operation is Operation.SIGMOID and (a == Known.MARGIN or opposite):
            return int(Known.REST if opposite else Known.P)
        if operation is Operation.LOGSIGMOID and (a == Known.MARGIN or opposite):
            return int(Known.LOG_REST if opposite else Known.LOG_P)
        if operation is Operation.EXP and a in (Known.LOG_P, Known.LOG_REST):
            return int(a) - 2
        return None

    def instruction(self, register: float) -> tuple[float, ...] | None:
        """What wrote a register; None for one the program starts with."""
        place = int(register) - self.inputs
        return list(self.known)[place] if 0 <= place < len(self.known) else None

    def over_rest(self, register: int) -> int:
        """The register of this one over 1 - p."""
        found = self._without_rest(register)
        return self.write(Operation.DIVIDE, register, int(Known.REST)).number if found is None else found

    def _without_rest(self, register: int) -> int | None:
        if register == Known.REST:
            return self.constant(1.0).number
        operation, a, b = (self.instruction(register) or (None, 0, 0))[:3]
        if operation == Operation.SUBTRACT and a == Known.REST:
            one, less = self.constant(1.0).number, self.over_rest(int(b))
            return self.write(Operation.SUBTRACT, one, less).number
        if operation in (Operation.ADD, Operation.SUBTRACT):
            both = self._without_rest(int(a)), self._without_rest(int(b))
            return None if None in both else self.write(Operation(int(operation)), *both).number  # type: ignore[arg-type]
        if operation not in (Operation.MULTIPLY, Operation.DIVIDE, Operation.NEGATIVE):
            return None
        left = self._without_rest(int(a))
        if left is not None:
            return self.write(Operation(int(operation)), left, b).number
        right = self._without_rest(int(b)) if operation == Operation.MULTIPLY else None
        return None if right is None else self.write(Operation.MULTIPLY, a, right).number


def record_classes(evaluate: Evaluate) -> Program | None:
    """A program for the kernels to value, emphasis over 1 - p and emphasis; None if the loss does more."""
    program = recorded_classes(evaluate)
    return program if program is not None and is_worth_a_kernel(program) else None


def recorded_classes(evaluate: Evaluate) -> Program | None:
    """The same for anyone."""
    tape = ClassTape()
    try:
        value, emphasis = evaluate(Recorded(tape, int(Known.MARGIN)))
        number = tape.register(emphasis)
        ratio = Recorded(tape, tape.over_rest(number))
        program = tape.program(value, ratio, Recorded(tape, number))
    except Exception:
        return None
    return None if tape.tables else program


def needs_series(program: Program) -> bool:
    """True if the ratio divides by 1 - p, raises it, or asks for its logarithm: cheap for small p alone."""
    wanted, places = {program.outputs[1]}, range(0, len(program.code), WIDTH)
    for start in reversed(places):
        operation, *operands = program.code[start : start + WIDTH]
        if len(Known) + start // WIDTH not in wanted or operation == Operation.CONSTANT:
            continue
        read = [int(register) for register in operands[: OPERANDS.get(Operation(int(operation)), 1)]]
        if operation in (Operation.DIVIDE, Operation.POWER) and Known.REST in read:
            return True
        wanted.update(read)
    return bool(wanted & {Known.LOG_REST, Known.MARGIN})
