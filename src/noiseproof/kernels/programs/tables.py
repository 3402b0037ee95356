"""Tables of recorded programs in the memory of the device that reads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, MutableMapping

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from .recorder import WIDTH, Operation, Program

_Copies = dict[tuple[object, ...], tuple[tuple[Tensor, ...], Tensor]]
_copies: MutableMapping[Tensor, _Copies] = WeakIdKeyDictionary()
"""By first table: the others, which keep their identity while they are here, and all of them together."""


def on_device(tables: tuple[Tensor, ...], device: torch.device) -> Tensor:
    """All tables one after the other, (cells, 4) in float32: copied once, so that later calls never wait.

    The copy stays as long as its first table does: a captured graph reads it at every replay.
    """
    known = _copies.setdefault(tables[0], {})
    key = (device, *map(id, tables[1:]))
    if key not in known:
        together = torch.cat([table.detach().float() for table in tables])
        known[key] = (tables[1:], together.to(device))
    return known[key][1]


def addressed(program: Program, tables: tuple[Tensor, ...]) -> Program:
    """The same program for tables that lie together: a look-up names its first and its last cell."""
    ends = list(itertools.accumulate(map(len, tables)))
    cells = [(end - len(table), end - 1) for end, table in zip(ends, tables, strict=True)]
    code = tuple(number for words in _instructions(program) for number in _with_cells(words, cells))
    return Program(code, program.outputs)


def _instructions(program: Program) -> Iterator[tuple[float, ...]]:
    for start in range(0, len(program.code), WIDTH):
        yield program.code[start : start + WIDTH]


def _with_cells(words: tuple[float, ...], cells: list[tuple[int, int]]) -> tuple[float, ...]:
    return words if words[0] != Operation.TABLE else (*words[:2], *cells[int(words[2])])
