"""A recorded program run as torch expressions: for those who differentiate a gradient once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .recorder import WIDTH, Operation

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
"""How many registers an operation reads, 1 if not named."""


def replay(code: Sequence[float], inputs: Sequence[Tensor], tables: Sequence[Tensor] = ()) -> list[Tensor]:
    """All registers after the program; the first ones are its inputs."""
    registers = list(inputs)
    for start in range(0, len(code), WIDTH):
        operation = Operation(int(code[start]))
        operands = code[start + 1 : start + WIDTH]
        if operation is Operation.CONSTANT:
            found = torch.full_like(registers[0], operands[0])
        elif operation is Operation.TABLE:
            found = look_up(tables[int(operands[1])], registers[int(operands[0])])
        else:
            read = operands[: OPERANDS.get(operation, 1)]
            found = FUNCTIONS[operation](*(registers[int(number)] for number in read))
        registers.append(found)
    return registers


def look_up(table: Tensor, position: Tensor) -> Tensor:
    """Cubics by cell: ``table`` has rows (constant, linear, square, cube), one per whole position."""
    cell = position.detach().clamp(0, len(table) - 1).long()
    within = position - cell
    constant, linear, square, cube = table.to(position.dtype)[cell].unbind(-1)
    return constant + within * (linear + within * (square + within * cube))
