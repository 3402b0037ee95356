"""A function of row statistics, asked about rows whose classes lie on several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ..differentiable import NEGATIVE_INFINITY
from ..masked import without_masked
from ..reference import Coefficients, Statistics, Wanted
from ..row_function import Partials, RowFunction
from ..statistics_rows import coefficients_of, statistics_from
from .chunks import block_rows, slices
from .shard_sums import Sums, brought_together, by_kernels, without_ignored
from .shards import Shards

CheckRows = Callable[[Tensor, int], None]
"""Margins and the number of their first row: raises where they make no sense."""


class Question(NamedTuple):
    """``target`` (N,) counts over the classes of all processes."""

    shards: Shards
    target: Tensor
    keep: Tensor | None
    function: RowFunction
    check: CheckRows

    @property
    def wanted(self) -> Wanted:
        return self.function.wanted or Wanted()

    def label(self, rows: slice) -> Tensor:
        """Counted from the first class held here."""
        return self.target[rows] - self.shards.start

    def kept(self, rows: slice) -> Tensor | None:
        return None if self.keep is None else self.keep[rows]


class Answer(NamedTuple):
    """Values (n,), and what the gradient needs: sums of whole rows (sums, n) and partials (k, n)."""

    values: Tensor
    sums: Tensor
    partials: Tensor

    def of(self, rows: slice) -> Answer:
        return Answer(self.values[rows], self.sums[:, rows], self.partials[:, rows])


def sums_of_rows(question: Question, own: Tensor, rows: slice) -> Sums:
    """From the sums of the slice held here; one collective."""
    sums = brought_together(question.shards.gathered(own), question.wanted)
    target = question.target[rows]
    is_class = (target >= 0) & (target < question.shards.classes)
    sums = sums._replace(label=torch.where(is_class, sums.label, torch.nan))
    sums = without_ignored(sums, question.kept(rows))
    question.check(sums.margin(), rows.start)
    return sums


def answer(question: Question, own: Tensor, rows: slice) -> tuple[Answer, tuple[int, ...]]:
    """The answer, and the slots of its partials."""
    sums = sums_of_rows(question, own, rows)
    if question.function.wanted is None:
        margin = sums.margin()
        row, classes = Statistics(*[margin] * 5), margin
    else:
        first = sums.exponentials()
        row = statistics_from(sums.label.unsqueeze(1), first)
        every = torch.full_like(first.mass, question.shards.classes)
        classes = every if first.classes is None else first.classes
    value, partials = question.function.evaluate(row, classes)
    found = torch.stack([one.reshape(-1).to(sums.mass.dtype) for one in (value, *partials.given())])
    keep = question.kept(rows)
    if keep is not None:
        found = torch.where(keep, found, 0.0)
    return Answer(found[0], sums.packed(), found[1:]), partials.slots()


def become_gradient(
    logits: Tensor, question: Question, rows: slice, found: Answer, slots: tuple[int, ...], share: Tensor
) -> None:
    """Overwrite the logits of these rows and this slice with the gradient of values weighted by ``share``."""
    label, keep = question.label(rows), question.kept(rows)
    sums = Sums.of(found.sums, question.wanted)
    if by_kernels(logits, question.wanted):
        from ..triton import launch

        counted = torch.ones_like(label, dtype=torch.bool) if keep is None else keep
        state = torch.stack([sums.margin(), sums.peak, sums.mass])
        batch = launch.Batch(logits, label, counted, None)
        step = share.to(state.dtype).contiguous()
        launch.gradient(batch, state, found.partials.contiguous(), slots, step, inplace=True)
        return
    chosen = _coefficients(sums, found.partials, slots, share)
    for block in slices(logits.shape[0], block_rows(max(1, logits.shape[1]), logits.device)):
        part = Coefficients(*(None if c is None else c[block] for c in chosen))  # type: ignore[arg-type]
        level = Level(sums.peak[block].unsqueeze(1), sums.mass[block].unsqueeze(1))
        slope = _slope(logits[block], label[block].unsqueeze(1), level, part)
        logits[block] = slope if keep is None else torch.where(keep[block].unsqueeze(1), slope, 0.0)


def _coefficients(sums: Sums, partials: Tensor, slots: tuple[int, ...], share: Tensor) -> Coefficients:
    step = Partials(*(None if slot < 0 else partials[slot].unsqueeze(1) for slot in slots))
    label, first = sums.label.unsqueeze(1), sums.exponentials()
    chosen = coefficients_of(statistics_from(label, first), step, first, label)
    scale = share.to(first.mass.dtype).unsqueeze(1)
    return Coefficients(*(None if c is None else c * scale for c in chosen))  # type: ignore[arg-type]


class Level(NamedTuple):
    """Of whole rows, as columns."""

    peak: Tensor
    mass: Tensor


def _slope(logits: Tensor, label: Tensor, level: Level, coefficients: Coefficients) -> Tensor:
    at_label, others, square, product, shift, _ = coefficients
    raised = (logits.to(level.mass.dtype) - level.peak).exp_()
    direction = raised.div_(level.mass)
    slope = others if square is None else torch.addcmul(others, direction, square)
    if product is not None:
        slope = torch.addcmul(slope, product, without_masked(logits, level.mass.dtype))
    block = direction.mul_(slope)
    if shift is not None:
        block.add_(shift).masked_fill_(logits == NEGATIVE_INFINITY, 0.0)
    if logits.shape[1] == 0:
        return block
    inside = (label >= 0) & (label < logits.shape[1])
    column = torch.where(inside, label, 0)
    return block.scatter_(1, column, torch.where(inside, at_label, block.gather(1, column)))
