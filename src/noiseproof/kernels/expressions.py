r"""Losses as plain differentiable torch expressions.

They are the only implementation of second derivatives, ``torch.func`` transforms, forward mode and soft
targets, and ``torch.compile`` traces them. Logits have the class in their last dimension.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .row_function import RowFunction, Statistics, Wanted

NEGATIVE_INFINITY = float("-inf")
FindStatistics: TypeAlias = Callable[
    [Tensor, Tensor, "Tensor | None", "Wanted | None", "Tensor | None"], "tuple[Statistics, Tensor]"
]
"""A function of logits, labels, kept rows, wanted sums and class weights: statistics, numbers of classes."""


def accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for half precision, the dtype itself otherwise."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def margin(logits: Tensor, target: Tensor) -> Tensor:
    r""":math:`\Delta = z_y - \log\sum_{j\ne y} e^{z_j}`, shape of ``target``."""
    wide = logits.to(accumulation_dtype(logits.dtype))
    column = target.unsqueeze(-1)
    others = wide.scatter(-1, column, NEGATIVE_INFINITY)
    return wide.gather(-1, column).squeeze(-1) - torch.logsumexp(others, -1)


def class_margins(logits: Tensor) -> Tensor:
    r"""The margin of every class as if it were the label, shape of ``logits``.

    For all but the largest logit :math:`p_k \le 1/2`, so :math:`\log p_k - \log(1-p_k)` is exact
    there; the largest one is computed by :func:`margin`.
    """
    wide = logits.to(accumulation_dtype(logits.dtype))
    top = wide.argmax(-1)
    column = top.unsqueeze(-1)
    log_p = torch.log_softmax(wide, -1)
    below_half = log_p.scatter(-1, column, -1.0)
    lower = log_p - torch.log1p(-below_half.exp())
    return lower.scatter(-1, column, margin(wide, top).unsqueeze(-1))


def present_classes(logits: Tensor, weights: Tensor | None = None) -> Tensor:
    """How many classes of each row are not masked with -inf, or the sum of their weights."""
    present = (logits != NEGATIVE_INFINITY).to(accumulation_dtype(logits.dtype))
    return present.sum(-1) if weights is None else present @ weights.to(present.dtype)


def statistics(logits: Tensor, target: Tensor, weights: Tensor | None = None) -> Statistics:
    """All row statistics over the classes that are not masked; ``weights`` (C,) are those of the sum of z."""
    wide = logits.to(accumulation_dtype(logits.dtype))
    p = torch.softmax(wide, -1)
    present = wide.masked_fill(wide == NEGATIVE_INFINITY, 0.0)
    return Statistics(
        margin(wide, target),
        torch.logsumexp(wide, -1),
        present.sum(-1) if weights is None else present @ weights.to(wide.dtype),
        (p * p).sum(-1),
        (p * present).sum(-1),
    )


def find_statistics(
    logits: Tensor, target: Tensor, keep: Tensor | None, wanted: Wanted | None, weights: Tensor | None
) -> tuple[Statistics, Tensor]:
    """The statistics that a function needs. Ignored rows are replaced by rows of zeros, or by margin 0."""
    if keep is not None:
        logits = torch.where(keep.unsqueeze(-1), logits, 0.0)
    if wanted is not None:
        return statistics(logits, target, weights), present_classes(logits, weights)
    alone = margin(logits, target)
    alone = alone if keep is None else torch.where(keep, alone, 0.0)
    return Statistics(*[alone] * 5), alone


def rows(
    function: RowFunction,
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    weights: Tensor | None = None,
    find: FindStatistics = find_statistics,
) -> Tensor:
    """The unreduced loss, 0 where ``keep`` is False; its gradient is the partial derivatives themselves."""
    row, classes = find(logits, target, keep, function.wanted, weights)
    value, partials = function(row, classes, 1.0 if keep is None else keep)
    used = [column for column, slope in zip(row, partials, strict=True) if slope is not None]
    if keep is None:
        return attach(value, used, partials.given())
    slopes = [torch.where(keep, slope, 0.0) for slope in partials.given()]
    return torch.where(keep, attach(value, used, slopes), 0.0)


def class_rows(function: RowFunction, logits: Tensor, mass: Tensor) -> Tensor:
    """The loss of every class as if it were the label, (N, C); arbitrary where ``mass`` (N, C) is 0."""
    present = logits != NEGATIVE_INFINITY
    margins = torch.where(present & (mass > 0), class_margins(logits), 0.0)
    row, classes = Statistics(*[margins] * 5), margins
    if function.wanted is not None:
        found = statistics(logits, torch.zeros_like(logits[..., 0], dtype=torch.int64))
        wide = (column.unsqueeze(-1).expand_as(margins) for column in found[1:])
        row, classes = Statistics(margins, *wide), present_classes(logits).unsqueeze(-1).expand_as(margins)
    value, partials = function(row, classes, mass)
    used = [column for column, slope in zip(row, partials, strict=True) if slope is not None]
    return attach(value, used, partials.given())


def attach(value: Tensor, columns: Sequence[Tensor], partials: Sequence[Tensor]) -> Tensor:
    r"""``value`` whose derivative with respect to each column is the given one.

    The gradient is never found by autograd through ``value``, which would underflow. Second derivatives flow
    through ``partials``.
    """
    if not torch.compiler.is_compiling():
        attached: Tensor = _Attach.apply(value.detach(), *columns, *partials)  # type: ignore[no-untyped-call]
        return attached
    found = value.detach()
    for column, slope in zip(columns, partials, strict=True):
        found = found + slope.detach() * (column - column.detach())
    return found


class _Attach(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(value: Tensor, *tensors: Tensor) -> Tensor:  # type: ignore[override]
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:  # type: ignore[override]
        partials = inputs[1 + len(inputs) // 2 :]
        ctx.save_for_backward(*partials)
        ctx.save_for_forward(*partials)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        partials = ctx.saved_tensors
        return None, *(upstream * slope for slope in partials), *(None for _ in partials)

    @staticmethod
    def jvp(ctx: Any, _value: Any, *tangents: Any) -> Tensor:  # type: ignore[override]
        partials = ctx.saved_tensors
        steps = [slope * step for slope, step in zip(partials, tangents, strict=False) if step is not None]
        total: Tensor = sum(steps[1:], steps[0])
        return total


def wants_expressions(*upstream: Tensor) -> bool:
    """True where a gradient is differentiated again, or is needed for several upstream gradients at once.

    The latter is what ``is_grads_batched`` and vectorized Jacobians do: their tensors have no storage.
    """
    return torch.is_grad_enabled() or any(map(is_batched, upstream))


def is_batched(upstream: Tensor) -> bool:
    """Whether the tensor holds a batch of upstream gradients; tracers never produce that."""
    return not torch.compiler.is_compiling() and bool(torch._C._functorch.is_legacy_batchedtensor(upstream))


def expressed_gradient(
    outputs: Callable[[], Tensor | Sequence[Tensor]], logits: Tensor, upstream: Tensor | Sequence[Tensor]
) -> Tensor:
    """The gradient of ``outputs()`` with respect to the logits, itself differentiable in grad mode."""
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(outputs(), logits, upstream, create_graph=again)
    return gradient
