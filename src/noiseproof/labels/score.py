"""From margins to scores between 0 and 1."""

from __future__ import annotations

import torch
from torch import Tensor


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
