"""Decides how a loss runs: as torch calls, by the CPU operator, or by Triton kernels.

=========  ==================================================================================================
Triton     float32, float16 and bfloat16 logits (N, C) on a GPU. A loss whose row function can be recorded as
           a short program is two kernels, otherwise the function runs as torch calls between them.
operator   the same logits on a CPU, if ``noiseproof kernels build`` was run and the function can be recorded.
torch      everything else: float64, other devices, soft targets, and all that traces or transforms
           (``torch.compile`` with Triton's kernels as operators, ``torch.func``, forward mode, second
           derivatives), which uses plain differentiable expressions.
=========  ==================================================================================================
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from . import expressions, inplace, torch_rows, tracing
from .cpu import operator
from .program import Recording, is_worth_a_kernel, recording_of
from .row_function import RowFunction, Statistics, is_distributed
from .triton import operators

SWITCH = "NOISEPROOF_KERNELS"
"""Environment variable: ``reference`` disables the kernels and the operator, ``auto`` is the default."""
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
INSTALLED = importlib.util.find_spec("triton") is not None
MIN_CAPABILITY = (7, 0)
IGNORED = -100
MAX_COUNTED = 1 << 14
"""One program counts labels; for more labels torch is faster."""


def is_switched_on(word: str) -> bool:
    """Whether this value of the environment variable enables the kernels."""
    if word not in ("", "auto", "reference"):
        raise ValueError(f"{SWITCH}={word!r} is unknown: set it to 'reference' or 'auto', or unset it")
    return word != "reference"


enabled = is_switched_on(os.environ.get(SWITCH, ""))
_layout_of: Any = None
_run: Any = None
"""Functions of ``triton.fused``, set when it is imported."""
interpreted = False
"""Tests set this to run kernels imported with TRITON_INTERPRET=1 on CPU tensors."""


class AnyLoss(Protocol):
    """The attributes of a loss that this module uses."""

    reduction: str
    ignore_index: int
    why_no_row_function: ClassVar[str]

    def row_function(self, num_classes: int) -> RowFunction | None: ...

    def sum_weights(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor | None: ...

    def needs_labels_of_batch(self) -> bool: ...

    @property
    def inner(self) -> Sequence[Any]: ...


# The decision -------------------------------------------------------------------------------------


def uses_triton(logits: Tensor) -> bool:
    """Whether these logits go through Triton. Reads no values, so it does not synchronise."""
    return (
        enabled
        and INSTALLED
        and (logits.is_cuda or interpreted)
        and logits.dtype in DTYPES
        and len(shape := logits.shape) == 2
        and shape[0] > 0
        and shape[1] > 1
    )


def uses_operator(logits: Tensor) -> bool:
    """Whether these logits go through the compiled CPU operator."""
    return (
        enabled
        and type(logits) is Tensor
        and logits.is_cpu
        and logits.dtype in DTYPES
        and len(shape := logits.shape) == 2
        and shape[0] > 0
        and shape[1] > 1
        and operator.is_available()
        and not interpreted
    )


def kernel_recording(function: RowFunction) -> Recording | None:
    """The recorded function if it should be compiled into a Triton kernel."""
    recording = recording_of(function)
    return None if recording is None or not is_worth_a_kernel(recording) else recording


# Applying a row function --------------------------------------------------------------------------


def rows(
    function: RowFunction,
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    weights: Tensor | None = None,
) -> Tensor:
    """The unreduced loss (N,) of logits (N, C), 0 where ``keep`` is False.

    ``weights`` (C,) are those of the sum of z, for functions that are ``weighted``. Raises ValueError naming
    the first row whose margin is not finite, where values can be read.
    """
    if not tracing.is_plain_eager():
        kernels = torch.compiler.is_compiling() and uses_triton(logits)
        find = operators.find_statistics if kernels else expressions.find_statistics
        return expressions.rows(function, logits, target, keep, weights, find)
    if uses_triton(logits):
        recording = kernel_recording(function)
        if recording is None or not _can_divide(function, logits):
            return expressions.rows(function, logits, target, keep, weights, operators.find_statistics)
        return _fused(function, recording, logits, with_ignored(target, keep), weights, IGNORED, mean=False)
    if uses_operator(logits):
        label = with_ignored(target, keep)
        found = _by_operator(function, logits, label, weights, IGNORED, "none")
        if found is not None:
            return found
    return torch_rows.rows(function, logits, target, keep, weights)


def reduced(loss: AnyLoss, logits: Tensor, target: Tensor) -> Tensor | None:
    """The loss without class and sample weights, with as few host calls as possible.

    Returns None where the general implementation is needed, which also checks the inputs.
    """
    if not tracing.is_plain_eager() or not isinstance(logits, Tensor) or not isinstance(target, Tensor):
        return None
    if logits.dim() != 2:
        return None
    function = loss.row_function(logits.shape[1])
    if function is None:
        return None
    if function.plans is not None and enabled and not inplace.permission.given and loss.reduction != "sum":
        plan = function.plans.get(_layout_of(logits, target, loss.ignore_index, loss.reduction == "mean"))
        fits = not function.weighted or loss.needs_labels_of_batch()
        if plan is not None and fits and not (plan.by_weight and is_distributed()):
            found: Tensor = _run(logits, target, plan.call)
            return found
    fits = target.dtype == torch.int64 and target.shape == logits.shape[:1] and target.device == logits.device
    if not fits:
        return None
    if uses_triton(logits):
        return _reduced_by_triton(loss, function, logits, target)
    if uses_operator(logits):
        try:
            weights = loss.sum_weights(logits, target, None) if function.weighted else None
        except (ValueError, RuntimeError):
            return None
        return _by_operator(function, logits, target, weights, loss.ignore_index, loss.reduction)
    return _mean_by_torch(loss, function, logits, target)


def _reduced_by_triton(loss: AnyLoss, function: RowFunction, logits: Tensor, target: Tensor) -> Tensor | None:
    global _layout_of, _run
    from .triton.fused import MAX_ROWS_OF_MEAN, layout_of, run

    _layout_of, _run = layout_of, run
    recording = kernel_recording(function)
    if recording is None or not _can_divide(function, logits):
        return None
    weights = None
    is_class = 0 <= loss.ignore_index < logits.shape[1]
    can_count = function.is_fixed and len(logits) <= MAX_COUNTED and not is_class
    if function.weighted and not (can_count and loss.needs_labels_of_batch()):
        weights = loss.sum_weights(logits, target, target != loss.ignore_index)
    mean = loss.reduction == "mean"
    in_kernel = mean and logits.shape[0] <= MAX_ROWS_OF_MEAN
    found = _fused(function, recording, logits, target, weights, loss.ignore_index, in_kernel)
    if in_kernel or loss.reduction == "none":
        return found
    return found.sum() / (target != loss.ignore_index).sum().clamp_min(1) if mean else found.sum()


def _fused(
    function: RowFunction,
    recording: Recording,
    logits: Tensor,
    target: Tensor,
    weights: Tensor | None,
    ignore_index: int,
    mean: bool,
) -> Tensor:
    from .triton import fused

    overwrite = inplace.permission.given
    if overwrite:
        inplace.check(logits)
    if weights is not None:
        weights = weights.to(logits.device).float().contiguous()
    return fused.loss(function, recording, logits, target, weights, ignore_index, mean, overwrite)


def _can_divide(function: RowFunction, logits: Tensor) -> bool:
    """Whether a kernel can divide by the batch mean: if this process has all rows and not too many."""
    if not function.divides_by_batch:
        return True
    from .triton.fused import MAX_ROWS_OF_MEAN

    return logits.shape[0] <= MAX_ROWS_OF_MEAN and not is_distributed()


def _by_operator(
    function: RowFunction,
    logits: Tensor,
    target: Tensor,
    weights: Tensor | None,
    ignore_index: int,
    reduction: str,
) -> Tensor | None:
    """None if the function is not recorded, or if the inputs are invalid: the torch path raises the error."""
    recording = recording_of(function)
    if recording is None or (function.divides_by_batch and is_distributed()):
        return None
    if weights is not None:
        weights = weights.float().contiguous()
    try:
        by_mean = function.divides_by_batch
        return operator.run(recording, by_mean, logits, target, weights, ignore_index, reduction)
    except (ValueError, IndexError):
        return None


def _mean_by_torch(loss: AnyLoss, function: RowFunction, logits: Tensor, target: Tensor) -> Tensor | None:
    """The mean over (N, C) on a CPU with few calls, which take most of the time for small batches."""
    rows, classes = logits.shape
    is_common = (
        loss.reduction == "mean"
        and not function.weighted
        and tracing.values_can_be_checked(logits)
        and logits.is_floating_point()
        and rows > 0
        and classes > 1
        and not 0 <= loss.ignore_index < classes
    )
    if not is_common:
        return None
    try:
        return torch_rows.rows(function, logits, target, None, mean=True)
    except (IndexError, RuntimeError):
        return None  # a label outside 0..C-1: the general implementation ignores it or raises


def into_gradient(
    function: RowFunction,
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    weights: Tensor | None,
    share: Tensor,
) -> tuple[Tensor, Tensor | None]:
    """Overwrite logits (N, C) with the gradient of the sum of values weighted by ``share`` (N,).

    Returns the values and their derivatives with respect to the margin. No autograd graph is recorded.
    """
    if not uses_triton(logits):
        value, slope, gradient = torch_rows.values_and_gradient(
            function, logits, target, keep, weights, share
        )
        logits.copy_(gradient)
        return value, slope
    from .triton import fused, launch

    if weights is not None:
        weights = weights.to(logits.device).float().contiguous()
    recording = kernel_recording(function)
    if recording is not None and not function.divides_by_batch:
        return fused.into_gradient(
            function, recording, logits, with_ignored(target, keep), weights, IGNORED, share
        )
    counted = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
    state = launch.statistics(logits, target, counted, function.wanted, weights)
    value, partials = function(*launch.statistics_of(state), counted)
    slopes = torch.where(counted, torch.stack(partials.given()), 0.0)
    launch.gradient(
        logits, target, counted, state, slopes, partials.slots(), share.contiguous(), weights, inplace=True
    )
    return torch.where(counted, value, 0.0), partials.margin


def row_statistics(logits: Tensor, target: Tensor) -> Statistics:
    """All row statistics, differentiable. (N, C), (N,) -> 5 x (N,)"""
    compiling = torch.compiler.is_compiling()
    if (compiling or tracing.is_plain_eager()) and uses_triton(logits):
        return operators.row_statistics(logits, target)
    if not tracing.is_plain_eager():
        return expressions.statistics(logits, target)
    return torch_rows.row_statistics(logits, target)


def with_ignored(target: Tensor, keep: Tensor | None) -> Tensor:
    return target if keep is None else torch.where(keep, target, IGNORED)


# Description --------------------------------------------------------------------------------------


def explain(loss: AnyLoss, logits: Tensor) -> str:
    """Describe how ``loss(logits, class_indices)`` runs, and why.

    Example:
        >>> import torch
        >>> from noiseproof import losses
        >>> explain(losses.get("gce"), torch.zeros(2, 3, dtype=torch.float64))
        'gce(q=0.7): torch, two passes over the logits; torch.float64 logits are not supported by kernels'
    """
    function = loss.row_function(logits.shape[1]) if logits.dim() > 1 else None
    if function is None:
        words = [f"{loss}: torch calls; {loss.why_no_row_function}"]
        return "; ".join([*words, *(explain(part, logits) for part in loss.inner)])
    return f"{loss}: {_explain_function(function, logits)}"


def _explain_function(function: RowFunction, logits: Tensor) -> str:
    recording = recording_of(function)
    if uses_triton(logits):
        if recording is None or not is_worth_a_kernel(recording):
            return "Triton, with torch calls between two kernels; it cannot be recorded as a program"
        if not _can_divide(function, logits):
            return "Triton, with torch calls between two kernels; the batch mean is taken by torch"
        count = "up to three kernels" if function.weighted else "two kernels"
        return f"Triton, {count}; recorded as a program of {recording.length} instructions"
    if uses_operator(logits):
        if recording is not None and not (function.divides_by_batch and is_distributed()):
            return f"compiled CPU operator; recorded as a program of {recording.length} instructions"
        return "torch, two passes over the logits; the CPU operator cannot run it as a program"
    return f"torch, two passes over the logits; {_why_torch(logits)}"


def _why_torch(logits: Tensor) -> str:
    if not enabled:
        return f"{SWITCH}=reference turns kernels off"
    if logits.dtype not in DTYPES:
        return f"{logits.dtype} logits are not supported by kernels"
    if logits.is_cuda:
        return "Triton is not installed"
    if logits.is_cpu and operator.problem() is not None:
        return f"the CPU operator is not available ({operator.problem()})"
    return "kernels take contiguous batches (N, C) of plain tensors on a CPU or a CUDA device"


def triton_state() -> str:
    """One sentence: whether this machine runs the Triton kernels, and if not, why."""
    if not INSTALLED:
        return "off: triton is not installed, torch expressions are used"
    if not enabled:
        return f"off: {SWITCH}=reference selects torch expressions"
    if not torch.cuda.is_available():
        return "off: there is no CUDA device, torch expressions are used"
    capability = torch.cuda.get_device_capability()
    if capability < MIN_CAPABILITY:
        return f"unusable: Triton needs compute capability 7.0, here {capability}; set {SWITCH}=reference"
    return "on for float32, float16 and bfloat16 logits on CUDA; float64 uses torch expressions"


def operator_state() -> str:
    """One sentence: whether this machine runs the CPU operator, and if not, what to do."""
    if not enabled:
        return f"off: {SWITCH}=reference selects torch expressions"
    problem = operator.problem()
    if problem is None:
        return "on for float32, float16 and bfloat16 logits on the CPU; float64 uses torch expressions"
    return f"off, torch expressions are used: {problem}"
