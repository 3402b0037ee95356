r"""Row statistics in pure torch: two passes over the logits, no N x C temporary beyond the gradient.

The first pass reads the logits and keeps two numbers per row, the largest other logit (``peak``)
and :math:`\sum_{j\ne y} e^{z_j - peak}` (``mass``); the second writes the gradient from per-row
coefficients. On a CPU both walk through blocks of rows that stay in cache.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from .differentiable import NEGATIVE_INFINITY, accumulation_dtype
from .masked import sum_of_present, without_masked
from .tracing import values_can_be_checked

BLOCK_ELEMENTS = 1 << 19


class Statistics(NamedTuple):
    r"""Per-row statistics of logits z with label y and p = softmax(z), each of the target's shape.

    A class masked with a logit of -inf counts as absent: it adds nothing to any sum.
    """

    margin: Tensor
    logsumexp: Tensor
    sum_z: Tensor
    sum_p2: Tensor
    sum_pz: Tensor


class Wanted(NamedTuple):
    """Which sums beyond the margin a loss needs; each costs one more read of the row."""

    sum_z: bool = False
    squares: bool = False
    products: bool = False


class Exponentials(NamedTuple):
    """What the first pass leaves behind, as columns of shape (N, 1); sums not wanted are None."""

    peak: Tensor
    mass: Tensor
    classes: Tensor | None
    """How many classes are not masked; found together with ``sum_z``."""
    sum_z: Tensor | None
    squares: Tensor | None
    products: Tensor | None
    kept: Tensor | None
    """exp(z - peak), -mass at the label: the direction times mass. It becomes the gradient in place."""
    gap: Tensor | None = None
    """By how much exp(z - peak) of the classes below the peak exceeds its square; found with ``squares``."""

    def may_be_masked(self, classes: int) -> bool:
        """False where it is known that no class is masked, without asking a device."""
        if self.classes is None or not values_can_be_checked(self.classes):
            return True
        return bool((self.classes < classes).any())


class Coefficients(NamedTuple):
    r"""Gradient row ``d*(others + square*d + product*z) + shift`` with d = softmax over the other
    classes, ``label`` at the label, and ``top`` in place of ``others + square*d`` where d is largest.
    Columns of shape (N, 1)."""

    label: Tensor
    others: Tensor
    square: Tensor | None = None
    product: Tensor | None = None
    shift: Tensor | None = None
    top: Tensor | None = None


def row_blocks(logits: Tensor, elements: int = BLOCK_ELEMENTS) -> Iterator[slice]:
    """Slices of rows, each about so many logits; one slice on devices without a cache to respect."""
    rows, classes = logits.shape
    whole = logits.device.type != "cpu" or logits.numel() <= elements
    step = max(1, rows if whole else elements // classes)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def exponentials(
    logits: Tensor, column: Tensor, wanted: Wanted = Wanted(), keep: bool = False
) -> Exponentials:
    """First pass. ``column`` is the target of shape (N, 1); ``keep`` asks for ``kept``."""
    keep = keep and logits.dtype == accumulation_dtype(logits.dtype)
    blocks = list(row_blocks(logits))
    if len(blocks) <= 1:
        return _exponentials_of_block(logits, column, wanted, keep)
    kept = torch.empty_like(logits, memory_format=torch.contiguous_format) if keep else None
    parts = [
        _exponentials_of_block(
            logits[rows], column[rows], wanted, keep, None if kept is None else kept[rows]
        )._replace(kept=None)
        for rows in blocks
    ]
    columns = [c[0] if c[0] is None else torch.cat(c) for c in zip(*parts, strict=True)]
    return Exponentials(*columns)._replace(kept=kept)  # type: ignore[arg-type]


def _exponentials_of_block(
    logits: Tensor, column: Tensor, wanted: Wanted, keep: bool, space: Tensor | None = None
) -> Exponentials:
    if space is None:
        wide = logits.to(accumulation_dtype(logits.dtype)).scatter(1, column, NEGATIVE_INFINITY)
    else:
        wide = space.copy_(logits).scatter_(1, column, NEGATIVE_INFINITY)
    peak = wide.amax(1, keepdim=True)
    raised = wide.sub_(peak).exp_()
    mass = raised.sum(1, keepdim=True)
    classes = sum_z = squares = products = gap = None
    if wanted.sum_z:
        sum_z, classes = sum_of_present(logits, mass.dtype)
    if wanted.squares:
        squares, gap = torch.linalg.vecdot(raised, raised).unsqueeze(1), _gap(raised)
    if wanted.products:
        products = torch.linalg.vecdot(raised, without_masked(logits, mass.dtype)).unsqueeze(1)
    kept = raised.scatter_(1, column, -mass) if keep else None
    return Exponentials(peak, mass, classes, sum_z, squares, products, kept, gap)


def _gap(raised: Tensor) -> Tensor:
    below = raised.scatter(1, raised.argmax(1, keepdim=True), 0.0)
    gap: Tensor = below.sum(1) - torch.linalg.vecdot(below, below)
    return gap.unsqueeze(1)


def class_counts(logits: Tensor, first: Exponentials) -> Tensor:
    """How many classes count in each row, as a column; all of them where nobody asked."""
    return torch.full_like(first.mass, logits.shape[1]) if first.classes is None else first.classes


def margin_from(logits: Tensor, column: Tensor, first: Exponentials) -> Tensor:
    """The margin as a column of shape (N, 1)."""
    label = logits.gather(1, column).to(first.peak.dtype)
    return label - first.peak - first.mass.log()


def descend(logits: Tensor, column: Tensor, first: Exponentials, step: Tensor) -> Tensor:
    """Second pass of a loss of the margin: ``step`` (N, 1) times (softmax over the others - one-hot).

    Overwrites and returns ``first.kept`` where there is one, and forms it anew otherwise.
    """
    share = step / first.mass
    if first.kept is not None:
        return first.kept.mul_(share)
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    for rows in row_blocks(logits):
        space = out[rows] if out.dtype == share.dtype else None
        raised = torch.sub(logits[rows].to(share.dtype), first.peak[rows], out=space).exp_()
        block = raised.scatter_(1, column[rows], -first.mass[rows]).mul_(share[rows])
        if space is None:
            out[rows] = block
    return out


def gradient(logits: Tensor, column: Tensor, first: Exponentials, coefficients: Coefficients) -> Tensor:
    """Second pass in general: the gradient with respect to the logits, of their dtype."""
    dtype = first.mass.dtype
    masked = first.may_be_masked(logits.shape[1])
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    for rows in row_blocks(logits):
        space = out[rows] if out.dtype == dtype else None
        raised = torch.sub(logits[rows].to(dtype), first.peak[rows], out=space).exp_()
        part = Coefficients(*(c if c is None else c[rows] for c in coefficients))  # type: ignore[arg-type]
        block = _gradient_of_block(logits[rows], column[rows], raised, first.mass[rows], part)
        if masked and coefficients.shift is not None:
            block.masked_fill_(logits[rows] == NEGATIVE_INFINITY, 0.0)
        if space is None:
            out[rows] = block
    return out


def _gradient_of_block(
    logits: Tensor, column: Tensor, raised: Tensor, mass: Tensor, coefficients: Coefficients
) -> Tensor:
    """Overwrites ``raised`` = exp(z - peak), whose entry at the label may be anything."""
    label, others, square, product, shift, top = coefficients
    if square is None and product is None:
        block = raised.mul_(others / mass)
    else:
        direction = raised.div_(mass).scatter_(1, column, 0.0)
        slope = others if square is None else torch.addcmul(others, direction, square)
        if top is not None:
            slope.scatter_(1, direction.argmax(1, keepdim=True), top)
        if product is not None:
            slope = torch.addcmul(slope, product, without_masked(logits, mass.dtype))
        block = direction.mul_(slope)
    if shift is not None:
        block.add_(shift)
    return block.scatter_(1, column, label)
