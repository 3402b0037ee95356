"""Losses and margins of a linear layer whose logits are never stored and whose classes are shared out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..differentiable import accumulation_dtype
from .finish import finished, lifted, refuse_more_than_a_gradient
from .shard_rows import Answer, Question, answer, become_gradient, sums_of_rows
from .shard_sums import number_of_sums, sums_of_slice
from .shards import Shards
from .sums import Gradients, GradientSums
from .sweep import Projection, without_autocast

Slots = tuple[int, ...]


def sharded_total(projection: Projection, question: Question, share: Tensor) -> Tensor:
    """Sum of row values weighted by ``share`` (N,); its gradients are formed in the forward pass.

    One collective per chunk, and one for the gradient of the hidden states.
    """
    wanted = torch.is_grad_enabled()
    total: Tensor = _Sharded.apply(*projection[:3], share, question, projection[3:], wanted)  # type: ignore[no-untyped-call]
    return total


def sharded_rows(projection: Projection, question: Question) -> Tensor:
    """(N,) row values in one collective; the logits are made once more in the backward pass."""
    rows: Tensor = _Sharded.apply(*projection[:3], None, question, projection[3:], False)  # type: ignore[no-untyped-call]
    return rows


def sharded_margin_state(projection: Projection, question: Question) -> Tensor:
    """(3, N): margin, largest other logit, and sum of exponentials beyond it."""
    sums = sums_of_rows(question, _own_sums(projection, question), _all(projection))
    return torch.stack([sums.margin(), sums.peak, sums.mass])


class _Sharded(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        share: Tensor | None,
        question: Question,
        settings: tuple[Any, ...],
        wanted: bool,
    ) -> Tensor:
        projection = Projection(hidden, weight, bias, *settings)
        ctx.question, ctx.settings, ctx.formed = question, settings, None
        if share is None:
            found, ctx.slots = answer(question, _own_sums(projection, question), _all(projection))
        else:
            needed = ctx.needs_input_grad[:3] if wanted else (False, False, False)
            scale, factor = lifted(share, projection.dtype)
            found, ctx.slots, gradients = _answers_and_gradients(projection, question, scale, needed)
            ctx.formed = (gradients, factor) if wanted else None
        ctx.save_for_backward(hidden, weight, bias, share, *found)
        return found.values.clone() if share is None else (found.values * share).sum()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        refuse_more_than_a_gradient(upstream)
        hidden, weight, bias, share, *found = ctx.saved_tensors
        projection = Projection(hidden, weight, bias, *ctx.settings)
        formed, ctx.formed = ctx.formed, None  # it leaves as the gradient; another backward forms it anew
        if formed is None:
            scale, factor = lifted(upstream if share is None else share, projection.dtype)
            needed = ctx.needs_input_grad[:3]
            formed = _gradients(projection, ctx.question, Answer(*found), ctx.slots, scale, needed), factor
        gradients, factor = formed
        outer = None if share is None else upstream
        by_share = upstream * found[0] if ctx.needs_input_grad[3] else None
        return *finished(gradients, projection, outer, factor), by_share, None, None, None


def _all(projection: Projection) -> slice:
    return slice(0, projection.hidden.shape[0])


def _own_sums(projection: Projection, question: Question) -> Tensor:
    """(sums, N) of the slice held here."""
    weight, bias = projection.cast()
    dtype = accumulation_dtype(projection.dtype)
    found = [projection.hidden.new_zeros(number_of_sums(question.wanted), 0, dtype=dtype)]
    with torch.no_grad(), without_autocast(weight):
        for rows in projection.chunks():
            logits = linear(projection.hidden[rows].to(projection.dtype), weight, bias)
            found.append(sums_of_slice(logits, question.label(rows), question.wanted))
            del logits
    return torch.cat(found, 1)


def _answers_and_gradients(
    projection: Projection, question: Question, share: Tensor, needed: tuple[bool, ...]
) -> tuple[Answer, Slots, Gradients]:
    weight, bias = projection.cast()
    chunks = projection.chunks() or [slice(0, 0)]
    sums = GradientSums(*projection[:3], needed, len(projection.chunks()))
    answers = []
    with torch.no_grad(), without_autocast(weight):
        for rows in chunks:
            hidden = projection.hidden[rows].to(projection.dtype)
            logits = linear(hidden, weight, bias)
            own = sums_of_slice(logits, question.label(rows), question.wanted)
            found, slots = answer(question, own, rows)
            answers.append(found)
            if any(needed) and len(hidden):
                become_gradient(logits, question, rows, found, slots, share[rows])
                sums.add(rows, hidden, weight, logits)
            del logits
    whole = Answer(*(torch.cat(parts, -1) for parts in zip(*answers, strict=True)))
    return whole, slots, _added_up(question.shards, projection.hidden, sums)


def _gradients(
    projection: Projection,
    question: Question,
    found: Answer,
    slots: Slots,
    share: Tensor,
    needed: tuple[bool, ...],
) -> Gradients:
    """From sums that are known: no collective but the sum of the hidden states' gradient."""
    weight, bias = projection.cast()
    chunks = projection.chunks()
    sums = GradientSums(*projection[:3], needed, len(chunks))
    with torch.no_grad(), without_autocast(weight):
        for rows in chunks:
            hidden = projection.hidden[rows].to(projection.dtype)
            logits = linear(hidden, weight, bias)
            become_gradient(logits, question, rows, found.of(rows), slots, share[rows])
            sums.add(rows, hidden, weight, logits)
            del logits
    return _added_up(question.shards, projection.hidden, sums)


def _added_up(shards: Shards, hidden: Tensor, sums: GradientSums) -> Gradients:
    found = sums.gradients()
    return found._replace(hidden=shards.add_up(found.hidden, hidden.dtype))
