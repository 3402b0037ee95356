"""The compiled operator for CPUs, loaded if it was built; this module does not build it."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

import torch
from torch import Tensor

from .. import build, expressions
from ..program import Recording, replay

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_NOT_TRIED: Any = object()
_loading = threading.Lock()
_loss: Any = _NOT_TRIED
"""The operator, None if it is not available."""
_problem: str | None = None
"""Why a library that exists could not be loaded."""


def is_available() -> bool:
    """Whether the operator was built; checked once per process."""
    return (_loss if _loss is not _NOT_TRIED else load()) is not None


def run(
    recording: Recording,
    by_mean: bool,
    logits: Tensor,
    target: Tensor,
    weights: Tensor | None,
    ignore_index: int,
    reduction: str,
) -> Tensor:
    """The reduced loss. (N, C), (N,) -> () or (N,)

    ``by_mean`` divides values and gradients by the batch's mean of twice the emphasis. Raises ValueError for
    labels that are not valid class indices and margins that are not finite.
    """
    number = recording.operator_number
    if number is None:
        number = _define(recording, by_mean)
    found: Tensor = _loss(logits, target, weights, number, ignore_index, REDUCTIONS[reduction])
    return found


def _define(recording: Recording, by_mean: bool) -> int:
    """The number of this recording in the operator, until the recording is garbage collected."""
    code = [float(word) for word in recording.program.code]
    sums = [] if recording.wanted is None else [int(word) for word in recording.wanted]
    lists = list(recording.program.outputs), list(recording.slots), sums, list(recording.tables)
    number: int = torch.ops.noiseproof_cpu.define(code, *lists, by_mean)
    recording.operator_number = number
    weakref.finalize(recording, torch.ops.noiseproof_cpu.forget, number).atexit = False
    return number


def load() -> Any:
    """The operator if it was built, else None."""
    global _loss
    with _loading:
        if _loss is _NOT_TRIED or _loss is None:
            _loss = _opened() if sys.platform != "win32" and build.problem() is None else None
        return _loss


def _opened() -> Any:
    global _problem
    try:
        torch.ops.load_library(str(build.library()))  # type: ignore[no-untyped-call]
    except OSError as found:
        _problem = f"it cannot be loaded ({found}); '{build.COMMAND}' builds it again"
        return None
    torch.library.impl("noiseproof_cpu::differentiable_gradient", "CompositeImplicitAutograd")(
        differentiable_gradient
    )
    torch.library.register_fake("noiseproof_cpu::loss")(_shape_of_loss)
    return torch.ops.noiseproof_cpu.loss.default._op


def problem() -> str | None:
    """Why the operator is not used; None if it is."""
    return build.problem() or (_problem if load() is None else None)


def differentiable_gradient(
    logits: Tensor,
    target: Tensor,
    upstream: Tensor,
    weights: Tensor | None,
    code: list[float],
    outputs: list[int],
    slots: list[int],
    wanted: list[int],
    tables: list[Tensor],
    ignore_index: int,
    reduction: int,
) -> Tensor:
    """The gradient of the operator as an expression that can itself be differentiated."""
    keep = target != ignore_index
    if reduction == REDUCTIONS["mean"]:
        upstream = upstream / keep.sum().clamp_min(1)
    safe, label = torch.where(keep.unsqueeze(1), logits, 0.0), torch.where(keep, target, 0)
    upstream = torch.where(keep, upstream, 0.0)
    weights = None if weights is None else weights[: logits.shape[1]]
    if wanted:
        rows = list(expressions.statistics(safe, label, weights))
        inputs = [*rows, expressions.present_classes(safe, weights)]
    else:
        rows = inputs = [expressions.margin(safe, label)]
    registers = replay(code, inputs, tables)
    used = [row for row, slot in zip(rows, slots, strict=False) if slot >= 0]
    steps = [upstream * registers[outputs[slot + 1]] for slot in slots if slot >= 0]
    (gradient,) = torch.autograd.grad(used, logits, steps, create_graph=True)
    return gradient


def _shape_of_loss(
    logits: Tensor, target: Tensor, weights: Tensor | None, number: int, ignore_index: int, reduction: int
) -> Tensor:
    return logits.new_empty(() if reduction else target.shape, dtype=torch.float32)
