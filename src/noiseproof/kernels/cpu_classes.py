"""Class programs as the CPU operator runs them: only what sums over classes need, in few and cheap steps."""

from __future__ import annotations

from .class_program import Known
from .recorder import WIDTH, Operation, Program, Tape
from .replay import OPERANDS

Instruction = tuple[float, ...]
TWINS = {Operation.EXP: Operation.EXPM1, Operation.EXPM1: Operation.EXP}


def quick(program: Program) -> Program:
    """To value and ratio alone; no division by a constant is left, exp and expm1 of a number are one step."""
    code = instructions(program.code)
    wanted = read_by(code, program.outputs[:2])
    tape = Tape(len(Known))
    places = {number: number for number in range(len(Known))}
    for number, step in enumerate(code, len(Known)):
        if number in wanted:
            places[number] = _rewritten(tape, step, places)
    found = tape.program()
    twins = _with_twins(instructions(found.code))
    return Program(
        tuple(word for step in twins for word in step), tuple(places[n] for n in program.outputs[:2])
    )


def instructions(code: tuple[float, ...]) -> list[Instruction]:
    return [code[start : start + WIDTH] for start in range(0, len(code), WIDTH)]


def operands(step: Instruction) -> list[int]:
    """Registers an instruction reads."""
    operation = Operation(int(step[0]))
    count = 0 if operation is Operation.CONSTANT else OPERANDS.get(operation, 1)
    return [int(number) for number in step[1 : 1 + count]]


def read_by(code: list[Instruction], outputs: tuple[int, ...]) -> set[int]:
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
    left, right = _constant(tape, a), _constant(tape, b)
    if operation is Operation.DIVIDE and right:
        return tape.write(Operation.MULTIPLY, a, tape.constant(1 / right).number).number
    if operation is Operation.MULTIPLY and 1.0 in (left, right):
        return a if right == 1.0 else b
    return tape.write(operation, a, b, c).number


def _constant(tape: Tape, register: int) -> float | None:
    place = register - len(Known)
    known = list(tape.known)[place] if place >= 0 else None
    return known[1] if known is not None and known[0] == Operation.CONSTANT else None


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
