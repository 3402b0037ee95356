"""Evidence from predicted probabilities, such as those of cross-validation, in one pass over them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .evidence import Evidence, lowest_with_best_f1
from .unlearned import align, learned_classes

CELLS = 2**21
"""Cells of a block: 8 MB of float32, which stays in the cache while several things are asked of it."""
SUM_TOLERANCE = 0.01
SMALLEST, LARGEST = 1e-37, 1 - 2**-24
"""Probabilities of the given label that float32 tells apart from 0 and 1."""


class Rows(NamedTuple):
    """Of each row of probabilities, (N,) each: that of the given label, the highest, and the class of that;
    the given label where no other class has more."""

    own: Tensor
    highest: Tensor
    best: Tensor


def probability_evidence(label: Tensor, probabilities: Tensor) -> Evidence:
    r"""Margin :math:`\log p_y - \log(1-p_y)`; suspects are where most samples surely look like another class.

    Surely:
        the most probable class is not the given one, and its probability is at least the mean that class has
        over the samples given it, as in confident learning
    Shape:
        label (N,) int64, probabilities (N, C), each row summing to 1

    Reference:
        Northcutt, Jiang & Chuang, Confident Learning: Estimating Uncertainty in Dataset Labels, JAIR 2021
    """
    rows = read_rows(label, probabilities)
    num_classes = probabilities.shape[1]
    size = torch.bincount(label, minlength=num_classes)
    usual = torch.bincount(label, weights=rows.own, minlength=num_classes) / size.clamp_min(1)
    usual[size == 0] = torch.inf
    beaten = rows.best != label
    sure = beaten & (rows.highest >= usual.float()[rows.best])
    margin = rows.own.clamp_min(SMALLEST).log() - torch.log1p(-rows.own.clamp_max(LARGEST))
    margin = align(margin, label, learned_classes(label, rows.best, num_classes))
    suspects = lowest_with_best_f1(margin, sure)
    other = rows.best.masked_fill(~beaten, -1)
    if suspects:
        doubted = (margin <= margin.kthvalue(suspects).values) & ~beaten
        other[doubted] = second_best(label[doubted], probabilities[doubted])
    return Evidence(margin, rows.best, other, suspects)


def read_rows(label: Tensor, probabilities: Tensor) -> Rows:
    """The numbers a judgement needs, block by block; the first row that is no distribution is named."""
    size = max(1, CELLS // probabilities.shape[1])
    own, highest, best = torch.empty(len(label)), torch.empty(len(label)), label.clone()
    for start in range(0, len(label), size):
        part = slice(start, start + size)
        block = probabilities[part].float()
        _check(block, start)
        own[part] = block.gather(1, label[part, None]).squeeze(1)
        highest[part] = block.amax(1)
        beaten = (highest[part] > own[part]).nonzero().squeeze(1)
        best[part][beaten] = block[beaten].max(1).indices
    return Rows(own, highest, best)


def second_best(label: Tensor, probabilities: Tensor) -> Tensor:
    """(N,) int64: the most probable class but the given one."""
    return probabilities.scatter(1, label[:, None], -1.0).argmax(1)


def _check(block: Tensor, start: int) -> None:
    total = block.sum(1)
    if bool((block.min() >= 0) & ((total - 1).abs() <= SUM_TOLERANCE).all()):
        return
    good = ((total - 1).abs() <= SUM_TOLERANCE) & (block.amin(1) >= 0)
    row = int((~good).nonzero()[0])
    strange = ~((block[row] >= 0) & (block[row] <= 1))
    if bool(strange.any()):
        place = int(strange.nonzero()[0])
        value = float(block[row, place])
        raise ValueError(f"probabilities[{start + row}, {place}] = {value:.6g} is no probability")
    raise ValueError(
        f"row {start + row} of probabilities sums to {float(total[row]):.6g}, not to 1: pass probabilities,"
        " not logits, of all classes"
    )
