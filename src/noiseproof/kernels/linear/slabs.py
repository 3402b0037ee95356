r"""The margin of a linear layer: rows forward, slabs of classes backward.

With the largest other logit and :math:`\sum_{j\ne y} e^{z_j - peak}` of every row kept from the forward
pass, the gradient of any few classes follows from their logits alone. So the backward pass walks over the
classes, and every row of the weight's gradient is one product, rounded once. The logits of the last rows, as
many as a chunk has, are kept as well, and need not be made again: of the weight's gradient they are another
product. No pass holds more than before; between them a chunk is there, unless checkpoints or hooks decide
what is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from .. import reference
from ..differentiable import accumulation_dtype
from ..path import uses_kernels
from .chunks import block_rows, slices
from .sums import Gradients, GradientSums
from .sweep import Projection, blocks_of, located, without_autocast

Check = Callable[[Tensor, Tensor, Tensor], None]
"""Margins, logits and labels of a block: raises where they make no sense."""


class KeptLogits:
    """Those of the last rows, as many as a chunk has; they leave with the first who takes them."""

    def __init__(self, logits: Tensor | None = None) -> None:
        self._logits = [] if logits is None or _is_watched() else [logits]

    def take(self) -> Tensor | None:
        with contextlib.suppress(IndexError):
            return self._logits.pop()
        return None


def _is_watched() -> bool:
    """Whether somebody decides what is kept for the backward pass: checkpoints, or memory elsewhere."""
    return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


class MarginState(NamedTuple):
    """What the backward pass needs of the forward pass."""

    rows: Tensor
    """(3, N): margin, largest other logit, and sum of exponentials beyond it."""
    kept: KeptLogits


def margin_state(projection: Projection, target: Tensor, keep: Tensor | None, check: Check) -> MarginState:
    weight, bias = projection.cast()
    found = [projection.hidden.new_zeros(3, 0, dtype=accumulation_dtype(projection.dtype))]
    logits = None
    with torch.no_grad(), without_autocast(weight):
        for chunk in projection.chunks():
            del logits
            logits = linear(projection.hidden[chunk].to(projection.dtype), weight, bias)
            for rows in blocks_of(logits, in_place=True):
                here = slice(chunk.start + rows.start, chunk.start + rows.stop)
                state = _first_pass(logits[rows], target[here], None if keep is None else keep[here])
                with located(here.start):
                    check(state[0], logits[rows], target[here])
                found.append(state)
    return MarginState(torch.cat(found, 1), KeptLogits(logits))


class Walk(NamedTuple):
    """Rows of a projection whose margins have a gradient: labels, which count, state, and upstream (N,)."""

    projection: Projection
    target: Tensor
    keep: Tensor | None
    state: Tensor
    upstream: Tensor

    def part(self, rows: slice) -> Walk:
        return Walk(
            self.projection._replace(hidden=self.projection.hidden[rows]),
            self.target[rows],
            None if self.keep is None else self.keep[rows],
            self.state[:, rows].contiguous(),
            self.upstream[rows],
        )


def margin_gradients(walk: Walk, needed: tuple[bool, ...], kept: KeptLogits) -> Gradients:
    """Gradients of the sum of margins weighted by ``upstream``. Takes the logits, if they are still there."""
    logits = kept.take()
    if logits is None or len(logits) == 0:
        return _slab_gradients(walk, needed, None)
    split = len(walk.target) - len(logits)
    last = _known_gradients(walk.part(slice(split, None)), needed, logits, 2 if split else 1)
    del logits  # the slabs take their place
    if split == 0:
        return last
    first = _slab_gradients(walk.part(slice(split)), needed, last.weight)
    return Gradients(_joined(first.hidden, last.hidden), first.weight, _added(first.bias, last.bias))


def _known_gradients(walk: Walk, needed: tuple[bool, ...], logits: Tensor, parts: int) -> Gradients:
    """Of rows whose logits are there, and become their gradient; one of so many ``parts`` of a sum."""
    hidden, weight, bias = walk.projection[:3]
    sums = GradientSums(hidden, weight, bias, needed, parts)
    low, _ = walk.projection.cast()
    with torch.no_grad(), without_autocast(low):
        _second_pass(logits, walk.target, walk.keep, walk.state, walk.upstream)
        sums.add(slice(0, len(logits)), hidden.to(walk.projection.dtype), low, logits)
    return sums.gradients()


def _slab_gradients(walk: Walk, needed: tuple[bool, ...], onto: Tensor | None) -> Gradients:
    """A slab of classes after another; the gradient of the weight is added to ``onto``, if it is given."""
    projection = walk.projection
    hidden = projection.hidden.to(projection.dtype)
    weight, bias = projection.cast()
    rows, classes = hidden.shape[0], weight.shape[0]
    slabs = list(slices(classes, max(1, -(-projection.chunk * classes // max(1, rows)))))
    roles = (needed[1], needed[0], False)
    sums = GradientSums(projection.weight, projection.hidden, None, roles, len(slabs), onto)
    by_bias = [walk.state.new_zeros(0)]
    with torch.no_grad(), without_autocast(weight):
        for slab in slabs:
            slope = linear(hidden, weight[slab], None if bias is None else bias[slab])
            _second_pass(slope, walk.target - slab.start, walk.keep, walk.state, walk.upstream)
            sums.add(slab, weight[slab], hidden, slope.t())
            if needed[2]:
                by_bias.append(slope.sum(0, dtype=walk.state.dtype))
            del slope
    by_weight, by_hidden, _ = sums.gradients()
    return Gradients(by_hidden, by_weight, torch.cat(by_bias) if needed[2] else None)


def _joined(first: Tensor | None, last: Tensor | None) -> Tensor | None:
    return None if first is None or last is None else torch.cat([first, last.to(first.dtype)])


def _added(first: Tensor | None, last: Tensor | None) -> Tensor | None:
    return None if first is None or last is None else first + last


def _first_pass(logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
    if uses_kernels(logits):
        from ..triton import launch

        counted = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
        state = launch.statistics(launch.Batch(logits, target, counted, None), None).state
    else:
        column = target.unsqueeze(1)
        first = reference.exponentials(logits, column)
        margin = reference.margin_from(logits, column, first)
        state = torch.cat([margin, first.peak, first.mass], 1).t()
    return state if keep is None else torch.where(keep, state, 0.0)


def _second_pass(logits: Tensor, label: Tensor, keep: Tensor | None, state: Tensor, upstream: Tensor) -> None:
    """Overwrite a slab of logits with its gradient; ``label`` counts from the slab's first class."""
    if uses_kernels(logits):
        from ..triton import launch

        counted = torch.ones_like(label, dtype=torch.bool) if keep is None else keep
        batch = launch.Batch(logits, label, counted, None)
        ones, slots = torch.ones_like(state[:1]), (0, -1, -1, -1, -1)
        launch.gradient(batch, state, ones, slots, upstream.contiguous(), inplace=True)
        return
    _, peak, mass = state.unsqueeze(2)
    step = upstream.to(state.dtype).unsqueeze(1)
    inside = ((label >= 0) & (label < logits.shape[1])).unsqueeze(1)
    column = torch.where(inside, label.unsqueeze(1), 0)
    for rows in slices(logits.shape[0], block_rows(logits.shape[1], logits.device)):
        slope = (logits[rows].to(state.dtype) - peak[rows]).exp_().mul_(-step[rows] / mass[rows])
        own = torch.where(inside[rows], step[rows], slope.gather(1, column[rows]))
        slope.scatter_(1, column[rows], own)
        logits[rows] = slope if keep is None else torch.where(keep[rows].unsqueeze(1), slope, 0.0)
