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

BLOCK_ELEMENTS = 1 << 19
KEPT_ELEMENTS = 1 << 17


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
    sum_z: Tensor | None
    squares: Tensor | None
    products: Tensor | None
    kept: Tensor | None
    """exp(z - peak), 0 at the label; only for inputs so small that keeping it costs nothing."""


class Coefficients(NamedTuple):
    r"""Gradient row ``d*(others + square*d + product*z) + shift`` with d = softmax over the other
    classes, and ``label`` at the label. Columns of shape (N, 1)."""

    label: Tensor
    others: Tensor
    square: Tensor | None = None
    product: Tensor | None = None
    shift: Tensor | None = None

    @property
    def is_plain(self) -> bool:
        """True when the gradient is the softmax direction times one number per row."""
        return self.square is None and self.product is None


def row_blocks(logits: Tensor) -> Iterator[slice]:
    rows, classes = logits.shape
    whole = logits.device.type != "cpu" or logits.numel() <= BLOCK_ELEMENTS
    step = max(1, rows if whole else BLOCK_ELEMENTS // classes)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def exponentials(logits: Tensor, column: Tensor, wanted: Wanted = Wanted()) -> Exponentials:
    """First pass. ``column`` is the target of shape (N, 1)."""
    if logits.numel() <= KEPT_ELEMENTS:
        return _exponentials_of_block(logits, column, wanted)
    parts = [
        _exponentials_of_block(logits[rows], column[rows], wanted)._replace(kept=None)
        for rows in row_blocks(logits)
    ]
    if len(parts) == 1:
        return parts[0]
    return Exponentials(*(c[0] if c[0] is None else torch.cat(c) for c in zip(*parts, strict=True)))


def _exponentials_of_block(logits: Tensor, column: Tensor, wanted: Wanted) -> Exponentials:
    wide = logits.to(accumulation_dtype(logits.dtype), copy=True)
    wide.scatter_(1, column, NEGATIVE_INFINITY)
    peak = wide.amax(1, keepdim=True)
    raised = wide.sub_(peak).exp_()
    mass = raised.sum(1, keepdim=True)
    sum_z = squares = products = None
    if wanted.sum_z:
        sum_z = sum_of_present(logits, mass.dtype)
    if wanted.squares:
        squares = torch.linalg.vecdot(raised, raised).unsqueeze(1)
    if wanted.products:
        products = torch.linalg.vecdot(raised, without_masked(logits, mass.dtype)).unsqueeze(1)
    return Exponentials(peak, mass, sum_z, squares, products, raised)


def without_masked(logits: Tensor, dtype: torch.dtype) -> Tensor:
    """The logits with 0 for -inf."""
    return logits.to(dtype).nan_to_num(nan=torch.nan, posinf=torch.inf, neginf=0.0)


def sum_of_present(logits: Tensor, dtype: torch.dtype) -> Tensor:
    """Row sums over the classes that are not masked, as a column."""
    if logits.device.type == "cpu":
        total = logits.sum(1, keepdim=True, dtype=dtype)
        if total.isfinite().all():
            return total
    return without_masked(logits, dtype).sum(1, keepdim=True)


def margin_from(logits: Tensor, column: Tensor, first: Exponentials) -> Tensor:
    """The margin as a column of shape (N, 1)."""
    label = logits.gather(1, column).to(first.peak.dtype)
    return label - first.peak - first.mass.log()


def gradient(
    logits: Tensor, column: Tensor, first: Exponentials, coefficients: Coefficients
) -> Tensor:
    """Second pass: the gradient with respect to the logits, of their dtype."""
    dtype = first.mass.dtype
    if first.kept is not None:
        raised = first.kept if coefficients.is_plain else first.kept.clone()
        block = _gradient_of_block(logits, column, raised, first.mass, coefficients, None)
        return block.to(logits.dtype)
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    for rows in row_blocks(logits):
        space = out[rows] if out.dtype == dtype else None
        raised = torch.sub(logits[rows].to(dtype), first.peak[rows], out=space).exp_()
        part = Coefficients(*(c if c is None else c[rows] for c in coefficients))
        mass = first.mass[rows]
        block = _gradient_of_block(logits[rows], column[rows], raised, mass, part, raised)
        if space is None:
            out[rows] = block
    return out


def _gradient_of_block(
    logits: Tensor,
    column: Tensor,
    raised: Tensor,
    mass: Tensor,
    coefficients: Coefficients,
    out: Tensor | None,
) -> Tensor:
    """From ``raised`` = exp(z - peak), which is overwritten unless the coefficients are plain."""
    label, others, square, product, shift = coefficients
    if coefficients.is_plain:
        block = torch.mul(raised, others / mass, out=out)
    else:
        direction = raised.div_(mass).scatter_(1, column, 0.0)
        slope = others if square is None else torch.addcmul(others, direction, square)
        if product is not None:
            slope = torch.addcmul(slope, product, without_masked(logits, mass.dtype))
        block = direction.mul_(slope)
    if shift is not None:
        block.add_(shift).masked_fill_(logits == NEGATIVE_INFINITY, 0.0)
    return block.scatter_(1, column, label)
