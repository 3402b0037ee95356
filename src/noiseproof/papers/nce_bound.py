"""How much weight NCE can give a sample of some margin, and what that means for its update scale."""

from __future__ import annotations

from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ..report.evidence import Evidence, NothingToShow


def bound_of_weight(margin: Tensor, classes: int) -> Tensor:
    r"""Largest L1 norm of the gradient of NCE that logits with this margin can have, or a little more.

    .. math:: 2\gamma\left[(1-p) + \varepsilon(1-1/K)\right], \qquad
              \gamma = \frac{1}{-\log p - (K-1)\log\frac{1-p}{K-1}}, \qquad \varepsilon = -K\gamma\log p

    gamma and epsilon of any logits are largest where the other classes share the rest alike, as here.

    Example:
        >>> round(float(bound_of_weight(torch.logit(torch.tensor(0.9)), 10)), 6)
        0.006076

    Reference:
        A Curriculum View of Robust Loss Functions, Eq. 3, as corrected in docs/errata.md, E7
    """
    surprise, rest = -logsigmoid(margin), torch.sigmoid(-margin)
    others = (classes - 1) * (torch.log(torch.tensor(classes - 1.0)) - logsigmoid(-margin))
    gamma = 1 / (surprise + others)
    return 2 * gamma * (rest + classes * gamma * surprise * (1 - 1 / classes))


def bound_of_scale(run: Evidence) -> tuple[list[int], list[float]]:
    """Epochs, and the average update scale if every sample had the largest weight of its margin.

    From the margins of each epoch and its learning rate, as the run has kept them.
    """
    record = run.record
    epochs, rates = run.series("lr")
    if epochs[-1] > record.epochs:
        raise NothingToShow(f"{run.name} has margins of {record.epochs} epochs only, not of {epochs[-1]}")
    pull = []
    for epoch, rate in zip(epochs, rates, strict=True):
        margin = record.margin[epoch - 1].double()
        pull.append(rate * float(bound_of_weight(margin, record.num_classes).nanmean()))
    total = zip(accumulate(pull), accumulate(rates), strict=True)
    return epochs, [above / below if below else 0.0 for above, below in total]
