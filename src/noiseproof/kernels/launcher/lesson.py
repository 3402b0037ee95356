"""Watching a loss once, to do the same without Python from then on.

A loss on a GPU is a few launches whose arguments are its inputs, what it returns, memory in between and
numbers. For logits of the same shape all but the addresses stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..tickets import Ticket
from .signature import passed

if TYPE_CHECKING:
    from ..triton.start import Heard

ALIGNMENT = 256
NOTHING = -1
_kept: dict[int, list[Any]] = {}
"""What the plans of a loss point to: compiled kernels and tables."""
_forgotten: set[int] = set()


class Source(IntEnum):
    """Where an argument comes from, as in plan.h."""

    LOGITS = 0
    TARGET = 1
    GIVEN = 2
    VALUE = 3
    UPSTREAM = 4
    GRADIENT = 5
    SCRATCH = 6
    TICKET = 7
    CONSTANT = 8


Place = tuple[Source, int]


class Lesson:
    """How loss ``number`` treats these logits: first the forward pass is shown, then the backward pass.

    ``given`` is a tensor the loss holds, and gives along at every call.
    """

    def __init__(self, number: int, logits: Tensor, target: Tensor, given: Tensor | None = None) -> None:
        self.number, self.logits, self.given = number, logits, given
        self._places: dict[int, Place] = {
            logits.data_ptr(): (Source.LOGITS, 0),
            target.data_ptr(): (Source.TARGET, 0),
        }
        if given is not None:
            self._places[given.data_ptr()] = Source.GIVEN, 0
        self._between: dict[int, int] = {}
        """Where memory in between begins, and where its twin begins in what a plan allocates at once."""
        self._scratch, self._drawn, self._kept = 0, NOTHING, list[Any]()
        self._alive: list[Tensor] = [target]
        """As long as these are there nobody else has their places."""
        self._forward: list[int] | None = None

    def reads(self, tables: Tensor | None) -> Lesson:
        """Numbers that stay where they are."""
        if tables is not None:
            self._places[tables.data_ptr()] = Source.CONSTANT, tables.data_ptr()
            self._kept.append(tables)
        return self

    def forward(self, heard: Sequence[Heard], value: Tensor, ticket: Ticket | None) -> Lesson:
        """What is neither given nor returned is memory in between."""
        self._alive += [value, *_tensors(heard)]
        self._places[value.data_ptr()] = Source.VALUE, 0
        if ticket is not None:
            self._places[ticket.address] = Source.TICKET, 0
        for tensor in _tensors(heard):
            memory = tensor.untyped_storage()
            if tensor.data_ptr() not in self._places and memory.data_ptr() not in self._between:
                self._between[memory.data_ptr()] = self._scratch
                self._scratch += -(-memory.nbytes() // ALIGNMENT) * ALIGNMENT
        self._forward = self._words(heard)
        return self

    def draws(self, labels: Tensor) -> Lesson:
        """The forward pass drew these from ``given``, which has moved on when the backward pass comes."""
        self._places = {at: place for at, place in self._places.items() if place[0] != Source.GIVEN}
        self._drawn = self._between[labels.data_ptr()]
        return self

    def backward(self, heard: Sequence[Heard], upstream: Tensor, gradient: Tensor) -> None:
        """With this the lesson is over; one that cannot be followed, or without a launch, is forgotten."""
        known = self._places.keys() | self._between.keys()
        taken = {upstream.data_ptr(), gradient.data_ptr()} & known
        is_usual = not upstream.dim() and upstream.dtype == torch.float32 and not taken
        if not self._forward or not is_usual or self.number in _forgotten:
            return
        self._places[upstream.data_ptr()] = Source.UPSTREAM, 0
        self._places[gradient.data_ptr()] = Source.GRADIENT, 0
        words = self._words(heard)
        if words:
            _kept.setdefault(self.number, []).extend(self._kept)
            define = torch.ops.noiseproof_launcher.define
            sizes = self._scratch, self._drawn
            define(self.number, self.logits.detach(), self.given, *sizes, self._forward, words)

    def _words(self, heard: Sequence[Heard]) -> list[int] | None:
        """As kernels_from in launcher.cpp reads them; None where that cannot be told."""
        words: list[int] = []
        try:
            for launch in heard:
                head, arguments = passed(launch)
                words += (*head, len(arguments))
                words += [word for one in arguments for word in self._place(one)]
        except Exception:  # whatever another version of Triton does, it must not stop a loss
            return None
        self._kept += [launch.compiled for launch in heard]
        return words

    def _place(self, argument: Tensor | int) -> Place:
        if not isinstance(argument, Tensor):
            return Source.CONSTANT, argument
        address, memory = argument.data_ptr(), argument.untyped_storage().data_ptr()
        if address in self._places:
            return self._places[address]
        return Source.SCRATCH, self._between[memory] + address - memory


def shown(lesson: Lesson | None, upstream: Tensor, gradient: Callable[[], Tensor]) -> Tensor:
    """What ``gradient`` returns; a lesson is shown how it comes about."""
    from ..triton.start import listening

    if lesson is None:
        return gradient()
    with listening(True) as heard:
        found = gradient()
    lesson.backward(heard, upstream, found)
    return found


def forget(number: int) -> None:
    _forgotten.add(number)
    torch.ops.noiseproof_launcher.forget(number)
    _kept.pop(number, None)


def _tensors(heard: Iterable[Heard]) -> Iterable[Tensor]:
    return (one for launch in heard for one in launch.arguments if isinstance(one, Tensor))
