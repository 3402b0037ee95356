"""Losses that count every class of a row, on the kernels: the loss of the label and that of all classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..kernels import (
    Blind,
    OwnAndBlind,
    attach,
    blind_rows,
    kernels_may_run,
    of_margin,
    record,
    record_classes,
    uses_kernels,
)
from .finite import check_margins
from .rows import Rows

Program = Any
MOST_RECORDINGS = 1024
_programs: dict[tuple[object, ...], Program | None] = {}
_of_labels: dict[tuple[object, ...], Program | None] = {}


class EveryClass(NamedTuple):
    """A loss of the margin that is summed over the classes."""

    evaluate: Callable[[Any], tuple[Any, Any]]
    """The margin to value and emphasis."""
    marks: tuple[object, ...] | None
    """What ``evaluate`` depends on; None where nobody knows."""
    plain: Callable[[Tensor], Tensor]
    """The sum over the classes as a plain expression of the logits."""


def own_and_blind(loss: EveryClass, rows: Rows, prior: Tensor | None) -> tuple[Tensor, Tensor] | None:
    """The loss of the label and the sum over all classes, both (N,); None where no kernel does it.

    ``prior`` is float32 and contiguous.
    """
    if not uses_kernels(rows.logits) or not kernels_may_run():
        return None
    program = _program(loss)
    if program is None:
        return None
    margin, blind = blind_rows(rows.logits, rows.target, rows.keep, Blind(program, prior, loss.plain))
    check_margins(margin, rows.logits, rows.target)
    return attach(margin, *loss.evaluate(margin)), blind


def plan_of(loss: EveryClass, prior: Tensor | None, beta: float | None) -> OwnAndBlind | None:
    """How the kernels take the whole loss; None where they cannot, or would be compiled at every call."""
    own, classes = _program_of_label(loss), _program(loss)
    return None if own is None or classes is None else OwnAndBlind(own, classes, prior, beta)


def _program(loss: EveryClass) -> Program | None:
    """Recorded once per kind of loss, or anew where the marks do not tell all."""
    if torch.compiler.is_compiling():
        return record_classes(loss.evaluate)
    return _remembered(_programs, loss, lambda: record_classes(loss.evaluate))


def _program_of_label(loss: EveryClass) -> Program | None:
    def recorded() -> Program | None:
        found = record(of_margin(loss.evaluate))
        return None if found is None or found.tables else found.program

    return _remembered(_of_labels, loss, recorded)


def _remembered(
    known: dict[tuple[object, ...], Program | None], loss: EveryClass, recorded: Callable[[], Program | None]
) -> Program | None:
    if loss.marks is None:
        return recorded()
    if loss.marks not in known:
        if len(known) >= MOST_RECORDINGS:
            known.clear()
        known[loss.marks] = recorded()
    return known[loss.marks]
