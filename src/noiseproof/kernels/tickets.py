"""Numbers by which the last program of a launch knows that all others are over.

A ticket is 0 when a launch begins, counts the programs that are over, and is 0 again when all are. No two
launches at the same time may have the same: those of a CUDA graph, which may be replayed at any time, keep
theirs, all others take the next of so many that it is free long before its turn comes again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

IN_TURN, ONCE = 4096, 32768
"""How many are used again and again, and how many by one graph each."""
WORDS = 4
"""Every ticket begins where memory is aligned."""


class Ticket(NamedTuple):
    """One whole number on a device, and where it lies."""

    number: Tensor
    address: int


class _Tickets:
    def __init__(self, device: torch.device) -> None:
        everything = torch.zeros(IN_TURN + ONCE, WORDS, dtype=torch.int32, device=device)
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # the first launch may be on another stream
        tickets = [Ticket(one, one.data_ptr()) for one in everything.unbind()]
        self.in_turn: Iterator[Ticket] = itertools.cycle(tickets[:IN_TURN])
        self.once: Iterator[Ticket] = iter(tickets[IN_TURN:])


_known: dict[int, _Tickets] = {}


def next_ticket(logits: Tensor) -> Ticket | None:
    """One on the device of the logits; None where a graph is captured and none is left for it."""
    index = logits.get_device()
    known = _known.get(index)
    if index >= 0 and torch.cuda.is_current_stream_capturing():
        return None if known is None else next(known.once, None)
    if known is None:
        known = _known.setdefault(index, _Tickets(logits.device))
    return next(known.in_turn)
