r"""Row statistics of classes that lie on several processes, in one collective.

Each process sums up its own slice relative to its own largest logit. Gathered, the slices are brought to a
common level, as blocks of a row are within one process; the label's logit is known to one of them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..differentiable import NEGATIVE_INFINITY, accumulation_dtype
from ..masked import sum_of_present, without_masked
from ..path import uses_kernels
from ..reference import Exponentials, Wanted
from .chunks import block_rows, slices


class Sums(NamedTuple):
    """Each (n,), or (processes, n) before they are brought together; None where nobody asked."""

    peak: Tensor
    mass: Tensor
    label: Tensor
    """The label's logit, 0 where another process has it."""
    sum_z: Tensor | None
    classes: Tensor | None
    squares: Tensor | None
    products: Tensor | None

    @staticmethod
    def of(packed: Tensor, wanted: Wanted) -> Sums:
        """From (..., sums, n)."""
        asked = (True, True, True, wanted.sum_z, wanted.sum_z, wanted.squares, wanted.products)
        found = iter(packed.unbind(-2))
        return Sums(*(next(found) if one else None for one in asked))  # type: ignore[arg-type]

    def packed(self) -> Tensor:
        """(sums, n)"""
        return torch.stack([one for one in self if one is not None])

    def margin(self) -> Tensor:
        return self.label - self.peak - self.mass.log()

    def exponentials(self) -> Exponentials:
        """As columns (n, 1)."""
        columns = [None if one is None else one.unsqueeze(1) for one in self]
        peak, mass, _, sum_z, classes, squares, products = columns
        return Exponentials(peak, mass, classes, sum_z, squares, products, None)  # type: ignore[arg-type]


def number_of_sums(wanted: Wanted | None) -> int:
    return 3 if wanted is None else 3 + 2 * wanted.sum_z + wanted.squares + wanted.products


def sums_of_slice(logits: Tensor, label: Tensor, wanted: Wanted) -> Tensor:
    """(n, classes of the slice) -> (sums, n). ``label`` counts from the slice's first class."""
    dtype = accumulation_dtype(logits.dtype)
    if logits.shape[1] == 0:
        empty = logits.new_zeros(number_of_sums(wanted), logits.shape[0], dtype=dtype)
        empty[0] = NEGATIVE_INFINITY
        return empty
    inside = ((label >= 0) & (label < logits.shape[1])).unsqueeze(1)
    column = torch.where(inside, label.unsqueeze(1), 0)
    own = torch.where(inside, logits.gather(1, column).to(dtype), 0.0).squeeze(1)
    if by_kernels(logits, wanted):
        return _from_kernels(logits, label, own, wanted).packed()
    found = [logits.new_zeros(number_of_sums(wanted), 0, dtype=dtype)]
    for rows in slices(logits.shape[0], block_rows(logits.shape[1], logits.device)):
        block = _sums_of_block(logits[rows], column[rows], inside[rows], wanted)
        found.append(block._replace(label=own[rows]).packed())
    return torch.cat(found, 1)


def by_kernels(logits: Tensor, wanted: Wanted) -> bool:
    """The kernels' sums of squares and products have the label in them."""
    return uses_kernels(logits) and not wanted.squares and not wanted.products


def _from_kernels(logits: Tensor, label: Tensor, own: Tensor, wanted: Wanted) -> Sums:
    from ..triton import launch

    batch = launch.Batch(logits, label, torch.ones_like(label, dtype=torch.bool), None)
    state = launch.statistics(batch, wanted if wanted.sum_z else None, centred=False).state
    peak, mass = state[launch.State.PEAK], state[launch.State.MASS]
    if not wanted.sum_z:
        return Sums(peak, mass, own, None, None, None, None)
    return Sums(peak, mass, own, state[launch.State.SUM_Z], state[launch.State.CLASSES], None, None)


def _sums_of_block(logits: Tensor, column: Tensor, inside: Tensor, wanted: Wanted) -> Sums:
    wide = logits.to(accumulation_dtype(logits.dtype), copy=True)
    wide.scatter_(1, column, torch.where(inside, NEGATIVE_INFINITY, wide.gather(1, column)))
    peak = wide.amax(1, keepdim=True)
    raised = wide.sub_(level_of(peak)).exp_()
    sum_z = classes = squares = products = None
    if wanted.sum_z:
        sum_z, classes = (one.squeeze(1) for one in sum_of_present(logits, raised.dtype))
    if wanted.squares:
        squares = torch.linalg.vecdot(raised, raised)
    if wanted.products:
        products = torch.linalg.vecdot(raised, without_masked(logits, raised.dtype))
    return Sums(peak.squeeze(1), raised.sum(1), peak.squeeze(1), sum_z, classes, squares, products)


def level_of(peak: Tensor) -> Tensor:
    """0 where nothing but masked classes, or nothing at all, lies below it."""
    return torch.where(peak == NEGATIVE_INFINITY, 0.0, peak)


def brought_together(packed: Tensor, wanted: Wanted) -> Sums:
    """(processes, sums, n) of slices to the sums of whole rows.

    >>> slices = [(torch.tensor([[2.0, 0.0]]), 0), (torch.tensor([[0.0]]), -2)]
    >>> parts = [sums_of_slice(logits, torch.tensor([label]), Wanted()) for logits, label in slices]
    >>> brought_together(torch.stack(parts), Wanted()).margin()
    tensor([1.3069])
    """
    parts = Sums.of(packed, wanted)
    peak = parts.peak.amax(0)
    shrink = torch.exp(parts.peak - level_of(peak))
    return Sums(
        peak,
        (parts.mass * shrink).sum(0),
        parts.label.sum(0),
        None if parts.sum_z is None else parts.sum_z.sum(0),
        None if parts.classes is None else parts.classes.sum(0),
        None if parts.squares is None else (parts.squares * shrink.square()).sum(0),
        None if parts.products is None else (parts.products * shrink).sum(0),
    )


def without_ignored(sums: Sums, keep: Tensor | None) -> Sums:
    """Rows that are ignored become two classes with logits of 0."""
    if keep is None:
        return sums
    plain = (0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0)
    pairs = zip(sums, plain, strict=True)
    return Sums(*(None if one is None else torch.where(keep, one, other) for one, other in pairs))  # type: ignore[arg-type]
