"""The compiled operator for CPUs: loaded if it was built, never built here."""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch
from torch import Tensor

from .. import build, path
from ..fused import Recording
from ..programs.class_program import Known
from ..programs.recorder import Program
from ..reference import Wanted
from . import classes
from .again import REDUCTIONS, again, again_classes
from .powers import powers_of

_NOT_TRIED: Any = object()
_loading = threading.Lock()
_loss: Any = _NOT_TRIED
"""The operator, None if it is not there."""
_trouble: str | None = None
"""Why a library that is there could not be loaded."""
peer: Any = None
"""(logits, target, step, training, number, alpha, seed, ignore_index, reduction): a loss less alpha times
that of other rows under other labels. The operator counts the step, (), where ``training``."""
total: Any = None
"""(logits, target, numbers, weights, ignore_index, reduction): losses times their weights."""
blind: Any = None
"""(logits, target, prior, number, beta, ignore_index, reduction): a loss of every class less beta times its
mean under labels drawn from the prior, (C,) float32, or from the labels of the batch where it is None."""


def takes(logits: Tensor) -> bool:
    """Whether the operator is there and these logits are for it."""
    return (
        not torch.compiler.is_compiling()
        and (_loss if _loss is not _NOT_TRIED else load()) is not None
        and path.enabled
        and not path.interpreted
        and type(logits) is Tensor
        and logits.is_cpu
        and logits.dtype in path.DTYPES
        and len(shape := logits.shape) == 2
        and shape[0] > 0
        and shape[1] > 1
    )


def run(logits: Tensor, target: Tensor, number: int, ignore_index: int, reduction: str) -> Tensor:
    """The reduced loss. (N, C), (N,) -> () or (N,)

    ValueError for labels that are no class and margins that are not finite.
    """
    found: Tensor = _loss._op(logits, target, number, ignore_index, REDUCTIONS[reduction])
    return found


def define(recording: Recording, wanted: Wanted | None, by_mean: bool = False) -> int:
    """The number by which the operator knows this loss from now on.

    ``by_mean`` divides values and gradients by the batch's mean of twice the emphasis.
    """
    code = [float(word) for word in recording.program.code]
    sums = [] if wanted is None else [int(word) for word in wanted]
    outputs, slots = list(recording.program.outputs), list(recording.slots)
    number: int = torch.ops.noiseproof_cpu.define(code, outputs, slots, sums, list(recording.tables), by_mean)
    return number


def define_classes(program: Program, gamma: float | None) -> int:
    """The same for a loss of every class; ``gamma`` where it is the focal loss, which is built in."""
    fast, powers = classes.quick(program), powers_of(program)
    number: int = torch.ops.noiseproof_cpu.define_classes(
        [float(word) for word in program.code],
        list(program.outputs),
        [float(word) for word in fast.code],
        list(fast.outputs),
        list(fast.factors),
        fast.reads(Known.P, Known.REST),
        fast.reads(Known.MARGIN, Known.LOG_REST),
        -1.0 if gamma is None else gamma,
        [] if powers is None else [powers.exponent, *powers.value, *powers.ratio],
    )
    return number


def define_sum(every_class: int, weight: float, of_rows: int) -> int:
    """``weight`` times a loss of every class, and one of margin and sum of z, by their numbers."""
    number: int = torch.ops.noiseproof_cpu.define_sum(every_class, weight, of_rows)
    return number


def forget(number: int) -> None:
    torch.ops.noiseproof_cpu.forget(number)


def load() -> Any:
    """The operator if it was built, else None. Losses ask once per process: a run keeps its way."""
    global _loss
    with _loading:
        if _loss is _NOT_TRIED or _loss is None:
            _loss = _opened() if sys.platform != "win32" and build.problem() is None else None
        return _loss


def _opened() -> Any:
    global peer, blind, total, _trouble
    try:
        torch.ops.load_library(str(build.library()))  # type: ignore[no-untyped-call]
    except OSError as found:
        _trouble = f"it cannot be loaded ({found}); '{build.COMMAND}' builds it anew"
        return None
    torch.library.impl("noiseproof_cpu::again", "CompositeImplicitAutograd")(again)
    torch.library.impl("noiseproof_cpu::again_classes", "CompositeImplicitAutograd")(again_classes)
    torch.library.register_fake("noiseproof_cpu::loss")(_shape_of_loss)
    known = torch.ops.noiseproof_cpu
    peer, blind, total = (way.default._op for way in (known.peer, known.blind, known.sum))
    return torch.ops.noiseproof_cpu.loss.default


def state() -> str:
    """One sentence for people: does this machine run the operator, and if not, what to do."""
    if not path.enabled:
        return f"off: {path.SWITCH}=reference asks for torch expressions"
    problem = build.problem() or (_trouble if load() is None else None)
    if problem is None:
        return "on for float32, float16 and bfloat16 logits on the CPU; float64 uses torch expressions"
    return f"off, torch expressions are used: {problem}"


def _shape_of_loss(logits: Tensor, target: Tensor, number: int, ignore_index: int, reduction: int) -> Tensor:
    return logits.new_empty(() if reduction else target.shape, dtype=torch.float32)
