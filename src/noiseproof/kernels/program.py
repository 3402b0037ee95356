"""Recorded losses: from a row function to a short program, and how a program runs as torch expressions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from .recorder import WIDTH, Operation, Program, Recorded, Tape
from .row_function import RowFunction, Statistics, Wanted

PROGRAMS_PER_SHAPE = 16
"""A loss whose constants change would compile a kernel at each call; more programs run as torch calls."""
INPUTS = 6
"""Input registers of a program: five statistics and the number of classes; 1 if it needs the margin only."""
_constants_seen: dict[tuple[object, ...], set[Program]] = {}


class Recording:
    """A row function as a program, with data that the backends derive from it.

    The first result of ``program`` is the value, the others are partial derivatives; ``slots`` names their
    statistics. ``tables`` are the cubics the program looks values up in, in float64 on the CPU.
    """

    def __init__(
        self,
        program: Program,
        slots: tuple[int, ...],
        tables: tuple[Tensor, ...] = (),
        wanted: Wanted | None = None,
    ) -> None:
        self.program, self.slots, self.tables, self.wanted = program, slots, tables, wanted
        self.for_kernels = with_addresses(program, tables)
        """The same program for tables that are stored one after the other."""
        self.operator_number: int | None = None
        """Set by the CPU operator."""
        self.is_worth_a_kernel: bool | None = None
        self.plans: dict[object, Any] = {}
        """Filled by the Triton kernels."""

    @property
    def length(self) -> int:
        """Number of instructions."""
        return len(self.program.code) // WIDTH

    def is_like(self, other: Recording) -> bool:
        same_tables = len(self.tables) == len(other.tables) and all(map(_is, self.tables, other.tables))
        return self.program == other.program and self.slots == other.slots and same_tables


def _is(one: object, other: object) -> bool:
    return one is other


def recording_of(function: RowFunction) -> Recording | None:
    """The function as a program, recorded once if it is fixed; None if it cannot be recorded."""
    known: Recording | Literal[False] | None = function.recording
    if known is None or not function.is_fixed:
        found = record(function)
        if not (known and found and found.is_like(known)):
            function.recording = known = found or False
    return known or None


def record(function: RowFunction) -> Recording | None:
    """Run the function on recorded statistics."""
    inputs = 1 if function.wanted is None else INPUTS
    tape = Tape(inputs)
    registers: list[Any] = [Recorded(tape, number) for number in range(inputs)]
    row = Statistics(*(registers * 5)[:5])
    try:
        value, partials = function.evaluate(row, registers[-1], 1.0)
        program = tape.program(value, *partials.given())
    except Exception:
        return None
    return Recording(program, partials.slots(), tuple(tape.tables), function.wanted)


def is_worth_a_kernel(recording: Recording) -> bool:
    """Whether the program is one of the first ``PROGRAMS_PER_SHAPE`` with these operations."""
    if recording.is_worth_a_kernel is None:
        program = recording.for_kernels
        seen = _constants_seen.setdefault((program.code[::WIDTH], program.outputs), set())
        recording.is_worth_a_kernel = program in seen or len(seen) < PROGRAMS_PER_SHAPE
        if recording.is_worth_a_kernel:
            seen.add(program)
    return recording.is_worth_a_kernel


# Tables -------------------------------------------------------------------------------------------

_Copies = dict[tuple[object, ...], tuple[tuple[Tensor, ...], Tensor]]
_copies: MutableMapping[Tensor, _Copies] = WeakIdKeyDictionary()
"""Keys are first tables; values hold the other tables, so that their ids stay valid, and the joined copy."""


def tables_on_device(
    tables: tuple[Tensor, ...], device: torch.device, dtype: torch.dtype = torch.float32
) -> Tensor:
    """All tables joined, (cells, 4): copied once, so that later calls never synchronise.

    The copy is kept as long as the first table: a captured graph reads it at every replay.
    """
    known = _copies.setdefault(tables[0], {})
    key = (device, dtype, *map(id, tables[1:]))
    if key not in known:
        together = torch.cat([table.detach().to(dtype) for table in tables])
        known[key] = (tables[1:], together.to(device))
    return known[key][1]


def with_addresses(program: Program, tables: tuple[Tensor, ...]) -> Program:
    """The same program for joined tables: a look-up contains its first and its last cell."""
    ends = list(itertools.accumulate(map(len, tables)))
    cells = [(end - len(table), end - 1) for end, table in zip(ends, tables, strict=True)]
    code = tuple(number for words in instructions_of(program) for number in _with_cells(words, cells))
    return Program(code, program.outputs)


def instructions_of(program: Program) -> Iterator[tuple[float, ...]]:
    for start in range(0, len(program.code), WIDTH):
        yield program.code[start : start + WIDTH]


def _with_cells(words: tuple[float, ...], cells: list[tuple[int, int]]) -> tuple[float, ...]:
    return words if words[0] != Operation.TABLE else (*words[:2], *cells[int(words[2])])


# Replay -------------------------------------------------------------------------------------------

FUNCTIONS: dict[Operation, Callable[..., Tensor]] = {
    Operation.NEGATIVE: torch.neg,
    Operation.ADD: torch.add,
    Operation.SUBTRACT: torch.sub,
    Operation.MULTIPLY: torch.mul,
    Operation.DIVIDE: torch.div,
    Operation.EXP: torch.exp,
    Operation.EXPM1: torch.expm1,
    Operation.LOG: torch.log,
    Operation.LOG1P: torch.log1p,
    Operation.SIGMOID: torch.sigmoid,
    Operation.LOGSIGMOID: torch.nn.functional.logsigmoid,
    Operation.SQRT: torch.sqrt,
    Operation.ABSOLUTE: torch.abs,
    Operation.POWER: torch.pow,
    Operation.MAXIMUM: torch.maximum,
    Operation.MINIMUM: torch.minimum,
    Operation.GREATER: torch.gt,
    Operation.GREATER_EQUAL: torch.ge,
    Operation.EQUAL: torch.eq,
    Operation.WHERE: torch.where,
    Operation.AND: torch.logical_and,
    Operation.NOT: torch.logical_not,
}
OPERANDS = {
    Operation.WHERE: 3,
    **dict.fromkeys((Operation(n) for n in range(Operation.ADD, Operation.DIVIDE + 1)), 2),
    **dict.fromkeys((Operation(n) for n in range(Operation.POWER, Operation.EQUAL + 1)), 2),
    Operation.AND: 2,
}
"""How many registers an operation reads, 1 if not listed."""


def replay(code: Sequence[float], inputs: Sequence[Tensor], tables: Sequence[Tensor] = ()) -> list[Tensor]:
    """All registers after running a program as differentiable torch calls; the first ones are its inputs."""
    registers = list(inputs)
    for start in range(0, len(code), WIDTH):
        operation, *operands = code[start : start + WIDTH]
        kind = Operation(int(operation))
        registers.append(run_instruction(kind, operands, lambda n: registers[int(n)], inputs[0], tables))
    return registers


def run_instruction(
    operation: Operation,
    operands: Sequence[float],
    read: Callable[[float], Tensor],
    like: Tensor,
    tables: Sequence[Tensor],
) -> Tensor:
    """The result of one instruction; ``read`` gives the tensor of a register."""
    if operation is Operation.CONSTANT:
        return like.new_full((), operands[0])
    if operation is Operation.TABLE:
        return look_up(tables[int(operands[1])], read(operands[0]))
    return FUNCTIONS[operation](*(read(number) for number in operands[: OPERANDS.get(operation, 1)]))


def look_up(table: Tensor, position: Tensor) -> Tensor:
    """Cubics by cell: ``table`` has rows (constant, linear, square, cube), one per integer position."""
    cell = position.detach().clamp(0, len(table) - 1).long()
    within = position - cell
    if table.device != position.device:
        table = tables_on_device((table,), position.device, position.dtype)
    constant, linear, square, cube = table.to(position.dtype)[cell].unbind(-1)
    return constant + within * (linear + within * (square + within * cube))
