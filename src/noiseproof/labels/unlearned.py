"""Classes the network does not know say nothing about single labels: their margins are low one and all."""

from __future__ import annotations

import torch
from torch import Tensor

LEAST = 0.3
"""A class predicted for less than this share of its given labels was not learned."""


def align(margin: Tensor, label: Tensor, predicted: Tensor, num_classes: int) -> Tensor:
    """Margins with the median of every class that was not learned moved to that of all classes that were.

    Robust losses sometimes give up a class: all its samples would look wrong. Inside such a class the order
    of the margins stays, and the lowest are still the first suspects.

    Shape:
        margin, label, predicted (N,), without NaN
    Example:
        >>> margin = torch.tensor([5.0, 6.0, 7.0, -9.0, -8.0, -7.0])
        >>> label, predicted = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([0, 0, 0, 0, 0, 0])
        >>> align(margin, label, predicted, num_classes=2)
        tensor([5., 6., 7., 5., 6., 7.])
    """
    given = torch.bincount(label, minlength=num_classes)
    said = torch.bincount(predicted.clamp_min(0), minlength=num_classes)
    learned = (said >= LEAST * given) | (given == 0)
    trusted = learned[label]
    if bool(trusted.all()) or not bool(trusted.any()):
        return margin
    centre = margin[trusted].median()
    shift = torch.zeros(num_classes, dtype=margin.dtype)
    for unknown in (~learned).nonzero().squeeze(1).tolist():
        shift[unknown] = centre - margin[label == unknown].median()
    return margin + shift[label]
