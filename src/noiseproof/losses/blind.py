"""Losses that count every class of a row, on the kernels: the loss of the label and that of all classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..kernels import Blind, attach, blind_rows, kernels_may_run, record_classes, uses_kernels
from .finite import check_margins
from .rows import Rows

Program = Any
MOST_RECORDINGS = 1024
_programs: dict[tuple[object, ...], Program | None] = {}


class EveryClass(NamedTuple):
    """A loss of the margin that is summed over the classes."""

    evaluate: Callable[[Any], tuple[Any, Any]]
    """The margin to value and emphasis."""
    marks: tuple[object, ...] | None
    """What ``evaluate`` depends on; None where nobody knows."""
    plain: Callable[[Tensor], Tensor]
    """The sum over the classes as a plain expression of the logits."""


def own_and_blind(loss: EveryClass, rows: Rows, prior: Tensor | None) -> tuple[Tensor, Tensor] | None:
    """The loss of the label and the sum over all classes, both (N,); None where no kernel does it."""
    if not uses_kernels(rows.logits) or not kernels_may_run():
        return None
    program = _program(loss)
    if program is None:
        return None
    prior = None if prior is None else prior.to(rows.logits.device).float().contiguous()
    margin, blind = blind_rows(rows.logits, rows.target, rows.keep, Blind(program, prior, loss.plain))
    check_margins(margin, rows.logits, rows.target)
    return attach(margin, *loss.evaluate(margin)), blind


def _program(loss: EveryClass) -> Program | None:
    """Recorded once per kind of loss, or anew where the marks do not tell all."""
    if loss.marks is None or torch.compiler.is_compiling():
        return record_classes(loss.evaluate)
    if loss.marks not in _programs:
        if len(_programs) >= MOST_RECORDINGS:
            _programs.clear()
        _programs[loss.marks] = record_classes(loss.evaluate)
    return _programs[loss.marks]
