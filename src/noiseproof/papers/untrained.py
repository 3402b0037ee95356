"""Margins of a network that has learned nothing yet."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import DataMissingError, load
from ..kernels import class_margins
from ..models import get as get_model

NETWORK = "cnn8"
DATA = {10: "cifar10", 100: "cifar100"}
"""Images that a task of so many classes has in the papers."""
IMAGES = 128
"""One batch."""


def untrained_margins(classes: int) -> tuple[Tensor, str]:
    """Margins of one batch with every class as the label, and words for the network and its images.

    An untrained network does not know the label, so each class tells as much of it as the right one.
    """
    images, words = _images(classes)
    network = get_model(NETWORK, num_classes=classes, seed=0)
    with torch.no_grad():
        margins = class_margins(network(images))
    return margins.flatten(), f"untrained {NETWORK} on {words}"


def _images(classes: int) -> tuple[Tensor, str]:
    """Real ones where they are at hand, each colour with mean 0 and deviation 1."""
    try:
        pixels = load(DATA[classes]).batch(range(IMAGES)).input.float()
    except (KeyError, DataMissingError):
        return torch.randn(IMAGES, 3, 32, 32, generator=torch.Generator().manual_seed(0)), "random pixels"
    over = (0, 2, 3)
    return (pixels - pixels.mean(over, keepdim=True)) / pixels.std(over, keepdim=True), DATA[classes]
