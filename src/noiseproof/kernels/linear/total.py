"""Row-wise losses of a linear layer: logits are computed, used and discarded chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import linear

from .. import apply
from ..checks import located
from ..expressions import accumulation_dtype
from ..row_function import Mass, Partials, RowFunction, Statistics, batch_mean
from .projection import (
    Gradients,
    GradientSums,
    Projection,
    blocks_of,
    check_upstream,
    scaled_for_float16,
    without_autocast,
)


class BlockLoss(Protocol):
    """The unreduced loss of a block of logits (n, V); ``rows`` says which rows of the batch they are."""

    @property
    def in_place(self) -> bool:
        """Whether ``into_gradient`` needs no additional N x V memory on a GPU."""
        ...

    def values(self, logits: Tensor, rows: slice) -> Tensor: ...

    def into_gradient(self, logits: Tensor, rows: slice, share: Tensor) -> Tensor:
        """Overwrite the logits with the gradient of the values weighted by ``share`` (n,); returns values."""
        ...


class RowFunctionBlockLoss(NamedTuple):
    """A row function of hard labels; writes the derivatives by the margin to ``slopes`` (N,), if given."""

    function: RowFunction
    target: Tensor
    keep: Tensor | None
    weights: Tensor | None = None
    slopes: Tensor | None = None
    in_place: bool = True

    def values(self, logits: Tensor, rows: slice) -> Tensor:
        if self.slopes is not None:
            return self.into_gradient(logits, rows, torch.zeros_like(self.slopes[rows]))
        keep = None if self.keep is None else self.keep[rows]
        return apply.rows(self.function, logits, self.target[rows], keep, self.weights)

    def into_gradient(self, logits: Tensor, rows: slice, share: Tensor) -> Tensor:
        keep = None if self.keep is None else self.keep[rows]
        value, slope = apply.into_gradient(
            self.function, logits, self.target[rows], keep, self.weights, share
        )
        if self.slopes is not None and slope is not None:
            self.slopes[rows] = slope
        return value


class ExpressionBlockLoss(NamedTuple):
    """Any differentiable function of a block of logits, each row by itself."""

    expression: Callable[[Tensor, slice], Tensor]
    in_place: bool = False

    def values(self, logits: Tensor, rows: slice) -> Tensor:
        return self.expression(logits, rows)

    def into_gradient(self, logits: Tensor, rows: slice, share: Tensor) -> Tensor:
        leaf = logits.detach().requires_grad_()
        with torch.enable_grad():
            values = self.expression(leaf, rows)
        (slope,) = torch.autograd.grad(values, leaf, share.to(values.dtype))
        logits.copy_(slope)
        return values.detach()


def linear_total(projection: Projection, loss: BlockLoss, share: Tensor) -> Tensor:
    """Sum of row values weighted by ``share`` (N,); its gradients are formed in the forward pass."""
    wanted = torch.is_grad_enabled()
    total: Tensor = _LinearTotal.apply(*projection, share, loss, wanted)  # type: ignore[no-untyped-call]
    return total


def linear_rows(projection: Projection, loss: BlockLoss) -> Tensor:
    """(N,) row values; the logits are computed again in the backward pass."""
    rows: Tensor = _LinearRows.apply(*projection, loss)  # type: ignore[no-untyped-call]
    return rows


def total_over_mean(
    function: RowFunction, projection: Projection, target: Tensor, keep: Tensor | None, share: Tensor
) -> Tensor:
    """``linear_total`` of a function that is divided by its batch mean, in one pass over the logits.

    All gradients share a factor, 1 over the mean weight, which is known when the last row has been processed.
    Until then weights are relative to the largest possible one, so that no sum of them overflows.
    """
    slopes = torch.zeros_like(share, requires_grad=False)
    loss = RowFunctionBlockLoss(_over_largest_emphasis(function), target, keep, slopes=slopes)
    total = linear_total(projection, loss, share)
    mean = batch_mean(-2 * slopes, 1.0 if keep is None else keep)
    return total * torch.where(mean > torch.finfo(mean.dtype).tiny, 1 / mean, 0.0)


def _over_largest_emphasis(function: RowFunction) -> RowFunction:
    """The function without its division by the batch mean, divided by its largest emphasis."""
    unit = 1 / (function.largest_emphasis or 1.0)

    def evaluate(row: Statistics, classes: Tensor, mass: Mass) -> tuple[Tensor, Partials]:
        value, partials = function.evaluate(row, classes, mass)
        return unit * value, Partials(*(None if slope is None else unit * slope for slope in partials))

    return RowFunction(evaluate, function.wanted, is_fixed=function.is_fixed)


class _LinearTotal(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        dtype: torch.dtype,
        chunk: int,
        share: Tensor,
        loss: BlockLoss,
        wanted: bool,
    ) -> Tensor:
        projection = Projection(hidden, weight, bias, dtype, chunk)
        ctx.settings, ctx.formed = (loss, dtype, chunk), None
        if wanted and any(ctx.needs_input_grad[:3]):
            values, *ctx.formed = _form(projection, loss, share, ctx.needs_input_grad[:3])
        else:
            values = _values_of(projection, loss)
        ctx.save_for_backward(hidden, weight, bias, share, values)
        return (values * share).sum()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        check_upstream(upstream)
        hidden, weight, bias, share, values = ctx.saved_tensors
        loss, *settings = ctx.settings
        projection = Projection(hidden, weight, bias, *settings)
        formed, ctx.formed = ctx.formed, None  # the gradient; another backward pass computes it again
        if formed is None:
            _, *formed = _form(projection, loss, share, ctx.needs_input_grad[:3])
        by_share = upstream * values if ctx.needs_input_grad[5] else None
        gradients, factor = formed
        return *gradients.finished(projection, upstream, factor), None, None, by_share, None, None


class _LinearRows(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        dtype: torch.dtype,
        chunk: int,
        loss: BlockLoss,
    ) -> Tensor:
        ctx.settings = (loss, dtype, chunk)
        ctx.save_for_backward(hidden, weight, bias)
        return _values_of(Projection(hidden, weight, bias, dtype, chunk), loss)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        check_upstream(upstream)
        hidden, weight, bias = ctx.saved_tensors
        loss, *settings = ctx.settings
        projection = Projection(hidden, weight, bias, *settings)
        _, gradients, factor = _form(projection, loss, upstream, ctx.needs_input_grad[:3])
        return *gradients.finished(projection, factor), None, None, None


def _form(
    projection: Projection, loss: BlockLoss, share: Tensor, needed: tuple[bool, ...]
) -> tuple[Tensor, Gradients, Tensor | None]:
    """Values, gradients of their sum weighted by ``share``, and the factor the gradients still lack."""
    if not any(needed):
        return share, Gradients(None, None, None), None
    share, factor = scaled_for_float16(share, projection.dtype)
    return *_values_and_gradients(projection, loss, share, needed), factor


def _values_of(projection: Projection, loss: BlockLoss) -> Tensor:
    weight, bias = projection.cast()
    found = [projection.hidden.new_zeros(0, dtype=accumulation_dtype(projection.dtype))]
    with torch.no_grad(), without_autocast(weight):
        for chunk in projection.chunks():
            logits = linear(projection.hidden[chunk].to(projection.dtype), weight, bias)
            for rows in blocks_of(logits, loss.in_place):
                here = slice(chunk.start + rows.start, chunk.start + rows.stop)
                with located(here.start):
                    found.append(loss.values(logits[rows], here))
            del logits
    return torch.cat(found)


def _values_and_gradients(
    projection: Projection, loss: BlockLoss, share: Tensor, needed: tuple[bool, ...]
) -> tuple[Tensor, Gradients]:
    weight, bias = projection.cast()
    chunks = projection.chunks()
    sums = GradientSums(projection.hidden, projection.weight, projection.bias, needed, len(chunks))
    found = [projection.hidden.new_zeros(0, dtype=accumulation_dtype(projection.dtype))]
    with torch.no_grad(), without_autocast(weight):
        for chunk in chunks:
            hidden = projection.hidden[chunk].to(projection.dtype)
            logits = linear(hidden, weight, bias)
            for rows in blocks_of(logits, loss.in_place):
                here = slice(chunk.start + rows.start, chunk.start + rows.stop)
                with located(here.start):
                    found.append(loss.into_gradient(logits[rows], here, share[here]))
            sums.add(chunk, hidden, weight, logits)
            del logits
    return torch.cat(found), sums.gradients()
