"""What a figure needs beside runs: margins of an untrained network, and a bound of the weight of NCE."""

from __future__ import annotations

from functools import cache
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ...data import DataMissingError, load
from ...kernels import class_margins
from ...models import get as get_model
from ...report.evidence import Evidence, NotAvailableError

SMALL, LARGE = "cnn8", "resnet34"
"""The networks of the paper for 10 classes, and for 100 and more."""
DATA = {10: "cifar10", 100: "cifar100"}
"""Images that a task of so many classes has in the papers."""
IMAGES = 128
"""One batch."""


@cache
def untrained_margins(classes: int) -> tuple[Tensor, str]:
    """Margins of one batch with every class as the label, and words for the network and its images.

    An untrained network does not know the label, so each class tells as much of it as the right one.
    """
    images, words = _images(classes)
    name = SMALL if classes < 100 else LARGE
    network = get_model(name, num_classes=classes, seed=0)
    with torch.no_grad():
        margins = class_margins(network(images))
    return margins.flatten(), f"untrained {name} on {words}"


def _images(classes: int) -> tuple[Tensor, str]:
    """Real ones where they are at hand, each colour with mean 0 and deviation 1."""
    try:
        pixels = load(DATA[classes]).batch(range(IMAGES)).input.float()
    except (KeyError, DataMissingError):
        return torch.randn(IMAGES, 3, 32, 32, generator=torch.Generator().manual_seed(0)), "random pixels"
    over = (0, 2, 3)
    return (pixels - pixels.mean(over, keepdim=True)) / pixels.std(over, keepdim=True), DATA[classes]


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
        raise NotAvailableError(f"{run.name} has margins of {record.epochs} epochs only, not of {epochs[-1]}")
    pull = []
    for epoch, rate in zip(epochs, rates, strict=True):
        margin = record.margin[epoch - 1].double()
        pull.append(rate * float(bound_of_weight(margin, record.num_classes).nanmean()))
    total = zip(accumulate(pull), accumulate(rates), strict=True)
    return epochs, [above / below if below else 0.0 for above, below in total]
