"""Values for figures that are not from runs: initial margins of networks, a bound on the weight of NCE."""

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
"""Number of classes -> dataset in the papers."""
BATCH_SIZE = 128


@cache
def untrained_margins(classes: int) -> tuple[Tensor, str]:
    """Margins of one batch with every class as the label, and the names of the network and its images.

    An untrained network does not depend on the labels, so all classes can serve as the label.
    """
    images, words = _images(classes)
    name = SMALL if classes < 100 else LARGE
    network = get_model(name, num_classes=classes, seed=0)
    with torch.no_grad():
        margins = class_margins(network(images))
    return margins.flatten(), f"untrained {name} on {words}"


def _images(classes: int) -> tuple[Tensor, str]:
    """A batch of the dataset with normalised colours, or random pixels if the dataset is not available."""
    try:
        pixels = load(DATA[classes]).batch(range(BATCH_SIZE)).input.float()
    except (KeyError, DataMissingError):
        return torch.randn(BATCH_SIZE, 3, 32, 32, generator=torch.Generator().manual_seed(0)), "random pixels"
    over = (0, 2, 3)
    return (pixels - pixels.mean(over, keepdim=True)) / pixels.std(over, keepdim=True), DATA[classes]


def bound_of_weight(margin: Tensor, classes: int) -> Tensor:
    r"""An upper bound on the L1 norm of the gradient of NCE for logits with this margin.

    .. math:: 2\gamma\left[(1-p) + \varepsilon(1-1/K)\right], \qquad
              \gamma = \frac{1}{-\log p - (K-1)\log\frac{1-p}{K-1}}, \qquad \varepsilon = -K\gamma\log p

    gamma and epsilon are largest if all other classes have equal probabilities, as assumed here.

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
    """Epochs, and the average update scale if every sample had the largest weight for its margin.

    It is computed from the recorded margins and the learning rate of each epoch.
    """
    record = run.record
    epochs, rates = run.series("lr")
    if epochs[-1] > record.epochs:
        raise NotAvailableError(f"{run.name} has margins of {record.epochs} epochs, not of all {epochs[-1]}")
    pull = []
    for epoch, rate in zip(epochs, rates, strict=True):
        margin = record.margin[epoch - 1].double()
        pull.append(rate * float(bound_of_weight(margin, record.num_classes).nanmean()))
    total = zip(accumulate(pull), accumulate(rates), strict=True)
    return epochs, [above / below if below else 0.0 for above, below in total]
