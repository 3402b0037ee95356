"""Class programs as the CPU operator runs them: only what sums over classes need, in few and cheap steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..programs.class_program import Known
from ..programs.recorder import WIDTH, Operation, Program, Tape
from ..programs.replay import OPERANDS

Instruction = tuple[float, ...]
TWINS = {Operation.EXP: Operation.EXPM1, Operation.EXPM1: Operation.EXP}


class Quick(NamedTuple):
    """A program to value and ratio, each still to be multiplied with its factor."""

    code: tuple[float, ...]
    outputs: tuple[int, ...]
    factors: tuple[float, ...]

    def reads(self, *registers: int) -> bool:
        return not read_by(instructions(self.code), self.outputs).isdisjoint(registers)


def quick(program: Program) -> Quick:
    """Without divisions by constants and factors of sums; exp and expm1 of a number are one step."""
    code = instructions(program.code)
    peeled = [_peeled(code, output) for output in program.outputs[:2]]
    wanted = read_by(code, [output for output, _ in peeled])
    tape = Tape(len(Known))
    places = {number: number for number in range(len(Known))}
    for number, step in enumerate(code, len(Known)):
        if number in wanted:
            places[number] = _rewritten(tape, step, places)
    twins = _with_twins(instructions(tape.program().code))
    outputs = tuple(places[output] for output, _ in peeled)
    return Quick(tuple(word for step in twins for word in step), outputs, tuple(f for _, f in peeled))


def _peeled(code: list[Instruction], output: int) -> tuple[int, float]:
    """The register before signs and constant factors, and what they come to."""
    factor = 1.0
    while output >= len(Known):
        operation, a, b, _ = code[output - len(Known)]
        left, right = _constant(code, int(a)), _constant(code, int(b))
        if operation == Operation.NEGATIVE:
            output, factor = int(a), -factor
        elif operation == Operation.MULTIPLY and right is not None:
            output, factor = int(a), factor * right
        elif operation == Operation.MULTIPLY and left is not None:
            output, factor = int(b), factor * left
        elif operation == Operation.DIVIDE and right:
            output, factor = int(a), factor / right
        else:
            break
    return output, factor


def instructions(code: tuple[float, ...]) -> list[Instruction]:
    return [code[start : start + WIDTH] for start in range(0, len(code), WIDTH)]


def operands(step: Instruction) -> list[int]:
    """Registers an instruction reads."""
    operation = Operation(int(step[0]))
    count = 0 if operation is Operation.CONSTANT else OPERANDS.get(operation, 1)
    return [int(number) for number in step[1 : 1 + count]]


def read_by(code: list[Instruction], outputs: Iterable[int]) -> set[int]:
    """All registers that results depend on."""
    found = set(outputs)
    for number in range(len(code) - 1, -1, -1):
        if len(Known) + number in found:
            found.update(operands(code[number]))
    return found


def _rewritten(tape: Tape, step: Instruction, places: dict[int, int]) -> int:
    """The register that holds the result from now on."""
    operation = Operation(int(step[0]))
    if operation is Operation.CONSTANT:
        return tape.constant(step[1]).number
    a, b, c = [*(places[number] for number in operands(step)), 0, 0, 0][:3]
    known = list(tape.known)
    left, right = _constant(known, a), _constant(known, b)
    if operation is Operation.DIVIDE and right:
        return tape.write(Operation.MULTIPLY, a, tape.constant(1 / right).number).number
    if operation is Operation.MULTIPLY and 1.0 in (left, right):
        return a if right == 1.0 else b
    return tape.write(operation, a, b, c).number


def _constant(code: list[Instruction], register: int) -> float | None:
    place = register - len(Known)
    return code[place][1] if place >= 0 and code[place][0] == Operation.CONSTANT else None


def _with_twins(code: list[Instruction]) -> list[Instruction]:
    """The first of exp and expm1 of a register names the other's result, which is marked as there already."""
    found = list(code)
    for number, (operation, a, _, _) in enumerate(code):
        twin = TWINS.get(Operation(int(operation)))
        place = None if twin is None else next((k for k, s in enumerate(code) if s[:2] == (twin, a)), None)
        if place is not None and place > number:
            found[number] = (operation, a, 0, place + len(Known))
            found[place] = (*code[place][:2], 1, 0)
    return found
