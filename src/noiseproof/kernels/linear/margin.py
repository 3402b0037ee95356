r"""Margins of a linear layer: the forward pass goes over rows, the backward pass over slabs of classes.

With the largest other logit and :math:`\sum_{j\ne y} e^{z_j - peak}` of every row kept from the forward
pass, the gradient of any few classes follows from their logits alone. So the backward pass goes over blocks
of classes ("slabs"), and every row of the weight's gradient is one product, rounded once. The logits of the
last chunk are kept between the passes and need not be computed again, unless checkpoints or hooks decide what
is saved.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from .. import torch_rows
from ..apply import uses_triton
from ..checks import check_margins, located
from ..expressions import accumulation_dtype
from .projection import (
    Gradients,
    GradientSums,
    Projection,
    blocks_of,
    check_upstream,
    scaled_for_float16,
    slices,
    without_autocast,
)


def linear_margin_rows(projection: Projection, target: Tensor, keep: Tensor | None) -> Tensor:
    """(N,) margins, 0 where ``keep`` is False. Raises ValueError for margins that are not finite."""
    margins: Tensor = _LinearMargin.apply(*projection, target, keep)  # type: ignore[no-untyped-call]
    return margins


class _LinearMargin(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        dtype: torch.dtype,
        chunk: int,
        target: Tensor,
        keep: Tensor | None,
    ) -> Tensor:
        projection = Projection(hidden, weight, bias, dtype, chunk)
        state, ctx.kept = _margin_state(projection, target, keep)
        ctx.settings = dtype, chunk
        ctx.save_for_backward(hidden, weight, bias, target, keep, state)
        return state[0].clone()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        check_upstream(upstream)
        hidden, weight, bias, target, keep, state = ctx.saved_tensors
        projection = Projection(hidden, weight, bias, *ctx.settings)
        step, factor = scaled_for_float16(upstream, projection.dtype)
        batch = MarginBatch(projection, target, keep, state, step)
        gradients = _margin_gradients(batch, ctx.needs_input_grad[:3], ctx.kept.take())
        return *gradients.finished(projection, factor), None, None, None, None


class KeptLogits:
    """The logits of the last chunk, used and released by the first backward pass."""

    def __init__(self, logits: Tensor | None) -> None:
        saved_elsewhere = torch._C._autograd._top_saved_tensors_default_hooks(False) is not None
        self._logits = [] if logits is None or saved_elsewhere else [logits]

    def take(self) -> Tensor | None:
        with contextlib.suppress(IndexError):
            return self._logits.pop()
        return None


def _margin_state(projection: Projection, target: Tensor, keep: Tensor | None) -> tuple[Tensor, KeptLogits]:
    """(3, N): margin, largest other logit and sum of exponentials relative to it; and the last logits."""
    weight, bias = projection.cast()
    found = [projection.hidden.new_zeros(3, 0, dtype=accumulation_dtype(projection.dtype))]
    logits = None
    with torch.no_grad(), without_autocast(weight):
        for chunk in projection.chunks():
            del logits
            logits = linear(projection.hidden[chunk].to(projection.dtype), weight, bias)
            for rows in blocks_of(logits, whole=True):
                here = slice(chunk.start + rows.start, chunk.start + rows.stop)
                state = _first_pass(logits[rows], target[here], None if keep is None else keep[here])
                with located(here.start):
                    check_margins(state[0], logits[rows], target[here])
                found.append(state)
    return torch.cat(found, 1), KeptLogits(logits)


class MarginBatch(NamedTuple):
    """Rows of a projection: labels, kept rows, state of the forward pass, and upstream gradient (N,)."""

    projection: Projection
    target: Tensor
    keep: Tensor | None
    state: Tensor
    upstream: Tensor

    def part(self, rows: slice) -> MarginBatch:
        return MarginBatch(
            self.projection._replace(hidden=self.projection.hidden[rows]),
            self.target[rows],
            None if self.keep is None else self.keep[rows],
            self.state[:, rows].contiguous(),
            self.upstream[rows],
        )


def _margin_gradients(batch: MarginBatch, needed: tuple[bool, ...], logits: Tensor | None) -> Gradients:
    """Gradients of the sum of margins weighted by ``upstream``; ``logits`` are those of the last rows."""
    if logits is None or len(logits) == 0:
        return _slab_gradients(batch, needed, None)
    split = len(batch.target) - len(logits)
    last = _gradients_of_logits(batch.part(slice(split, None)), needed, logits, 2 if split else 1)
    del logits  # so that slabs can reuse its memory
    if split == 0:
        return last
    first = _slab_gradients(batch.part(slice(split)), needed, last.weight)
    hidden = bias = None
    if first.hidden is not None and last.hidden is not None:
        hidden = torch.cat([first.hidden, last.hidden.to(first.hidden.dtype)])
    if first.bias is not None and last.bias is not None:
        bias = first.bias + last.bias
    return Gradients(hidden, first.weight, bias)


def _gradients_of_logits(
    batch: MarginBatch, needed: tuple[bool, ...], logits: Tensor, parts: int
) -> Gradients:
    """Gradients of rows whose logits are known, which are overwritten; one of ``parts`` parts of a sum."""
    hidden, weight, bias = batch.projection[:3]
    sums = GradientSums(hidden, weight, bias, needed, parts)
    low, _ = batch.projection.cast()
    with torch.no_grad(), without_autocast(low):
        _second_pass(logits, batch.target, batch.keep, batch.state, batch.upstream)
        sums.add(slice(0, len(logits)), hidden.to(batch.projection.dtype), low, logits)
    return sums.gradients()


def _slab_gradients(batch: MarginBatch, needed: tuple[bool, ...], onto: Tensor | None) -> Gradients:
    """Gradients by slabs of classes; the gradient of the weight is added to ``onto``, if it is given."""
    projection = batch.projection
    hidden = projection.hidden.to(projection.dtype)
    weight, bias = projection.cast()
    rows, classes = hidden.shape[0], weight.shape[0]
    slabs = list(slices(classes, max(1, -(-projection.chunk * classes // max(1, rows)))))
    roles = (needed[1], needed[0], False)
    sums = GradientSums(projection.weight, projection.hidden, None, roles, len(slabs), onto)
    by_bias = [batch.state.new_zeros(0)]
    with torch.no_grad(), without_autocast(weight):
        for slab in slabs:
            slope = linear(hidden, weight[slab], None if bias is None else bias[slab])
            _second_pass(slope, batch.target - slab.start, batch.keep, batch.state, batch.upstream)
            sums.add(slab, weight[slab], hidden, slope.t())
            if needed[2]:
                by_bias.append(slope.sum(0, dtype=batch.state.dtype))
            del slope
    by_weight, by_hidden, _ = sums.gradients()
    return Gradients(by_hidden, by_weight, torch.cat(by_bias) if needed[2] else None)


def _first_pass(logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
    if uses_triton(logits):
        from ..triton import launch

        counted = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
        state = launch.statistics(logits, target, counted, None)
    else:
        column = target.unsqueeze(1)
        first = torch_rows.exponentials(logits, column)
        margin = torch_rows.margin_from(logits.gather(1, column), first)
        state = torch.stack([margin, first.peak[:, 0], first.mass[:, 0]])
    return state if keep is None else torch.where(keep, state, 0.0)


def _second_pass(logits: Tensor, label: Tensor, keep: Tensor | None, state: Tensor, upstream: Tensor) -> None:
    """Overwrite a slab of logits with its gradient; ``label`` is relative to the slab's first class."""
    if uses_triton(logits):
        from ..triton import launch

        counted = torch.ones_like(label, dtype=torch.bool) if keep is None else keep
        ones = torch.ones_like(state[:1])
        slots, above = launch.OF_MARGIN, upstream.contiguous()
        launch.gradient(logits, label, counted, state, ones, slots, above, inplace=True)
        return
    _, peak, mass = state.unsqueeze(2)
    step = upstream.to(state.dtype).unsqueeze(1)
    inside = ((label >= 0) & (label < logits.shape[1])).unsqueeze(1)
    column = torch.where(inside, label.unsqueeze(1), 0)
    for rows in blocks_of(logits, whole=False):
        slope = (logits[rows].to(state.dtype) - peak[rows]).exp_().mul_(-step[rows] / mass[rows])
        own = torch.where(inside[rows], step[rows], slope.gather(1, column[rows]))
        slope.scatter_(1, column[rows], own)
        logits[rows] = slope if keep is None else torch.where(keep[rows].unsqueeze(1), slope, 0.0)
