"""What a record says for and against each label, as margins, votes and scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Evidence(NamedTuple):
    """The ground on which labels are judged.

    Shape:
        margin (N,) float32, higher = cleaner, NaN where nothing is known of a sample; predicted (N,) int64,
        -1 there; other (N,) int64: for suspects the likeliest class but the given one, -1 where none was
        ever likely
    """

    margin: Tensor
    predicted: Tensor
    other: Tensor
    wrong: Tensor
    """(N,) share of votes against the label, smoothed so that it falls with the margin; NaN if unknown."""
    suspects: int
    """How many labels are taken for wrong: those with the lowest margins."""
    weak: bool = False
    """Whether labels are contradicted on no good ground."""


def lowest_with_best_f1(margin: Tensor, wrong: Tensor) -> int:
    r"""How many of the lowest margins to suspect, when each label is wrong with the chance ``wrong``.

    Chosen:
        n with the largest :math:`F_1 = 2\sum_{i\le n} w_i / (n + \sum_i w_i)`, samples in the order of their
        margins: the F1 of the n lowest against the votes themselves. Where these are unsure it suspects
        samples whose chance is below one half, as the best F1 asks for. 0 if nothing speaks against a label.
    Shape:
        margin, wrong (N,), wrong in [0, 1] or bool
    Example:
        >>> lowest_with_best_f1(torch.tensor([3.0, -1.0, 0.0, 2.0]), torch.tensor([0.0, 1.0, 0.8, 0.1]))
        2
    """
    order = torch.from_numpy(np.argsort(margin.numpy()))  # four times as fast as torch's
    found = wrong[order].cumsum(0, dtype=torch.float64)
    del order
    if not len(found) or not found[-1] > 0:
        return 0
    either = torch.arange(1, len(found) + 1, dtype=torch.float64).add_(found[-1].clone())
    return int(found.div_(either).argmax()) + 1


def standard(values: Tensor) -> Tensor:
    """Mean 0 and standard deviation 1 over what is known; NaN stays NaN."""
    known = values[~values.isnan()].double()
    if not len(known):
        return values
    spread = float(known.std(correction=0))
    return (values - float(known.mean())) / (spread if spread > 0 else 1.0)


def label_score(margin: Tensor, suspects: int) -> Tensor:
    r"""How much a label can be trusted: below 1/2 for the ``suspects`` lowest margins.

    Score:
        :math:`\mathrm{sigmoid}((\Delta-c)/s)`, c half way between the last suspect and the next sample, s the
        standard deviation of the margins. NaN stays NaN. Samples of the same margin share their fate, so that
        fewer than ``suspects`` are below 1/2 where the cut would go between them.
    Shape:
        margin (N,), result (N,) float32 in [0, 1]
    Example:
        >>> label_score(torch.tensor([-4.0, 4.0, torch.nan, 5.0]), suspects=1).round(decimals=2)
        tensor([0.2700, 0.7300,    nan, 0.7800])
    """
    known = margin[~margin.isnan()]
    if not len(known):
        return margin.float()
    spread = float(known.double().std(correction=0)) or 1.0
    suspects = min(suspects, len(known))
    last = float(known.kthvalue(suspects).values) if suspects else float(known.min()) - 2 * spread
    following = float(known.kthvalue(suspects + 1).values) if suspects < len(known) else last + 2 * spread
    cut = (last + following) / 2
    return margin.to(torch.float64, copy=True).sub_(cut).div_(spread).sigmoid_().float()
