"""Classes the network does not know say nothing about single labels: their margins are low one and all."""

from __future__ import annotations

import torch
from torch import Tensor

LEAST = 0.3
"""A class predicted for less than this share of its given labels was not learned, nor one whose labels are
given back less than this share as often as those of the others."""


def learned_classes(label: Tensor, predicted: Tensor, num_classes: int) -> Tensor:
    """(C,) bool; classes that are never given count as learned.

    A class may be said often enough and yet not be known: where it takes the samples of a neighbour.

    Example:
        >>> learned_classes(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 0, 0]), num_classes=3)
        tensor([ True, False,  True])
    """
    given = torch.bincount(label, minlength=num_classes)
    said = torch.bincount(predicted[predicted >= 0], minlength=num_classes)
    back = torch.bincount(label[predicted == label], minlength=num_classes) / given.clamp_min(1)
    often = (said >= LEAST * given) & (given > 0)
    usual = back[often].mean() if bool(often.any()) else 0.0
    return (often & (back >= LEAST * usual)) | (given == 0)


def align(margin: Tensor, label: Tensor, learned: Tensor) -> Tensor:
    """Margins with the median of every class that was not learned moved to that of all classes that were.

    Robust losses sometimes give up a class: all its samples would look wrong. Inside such a class the order
    of the margins stays, and the lowest are still the first suspects.

    Shape:
        margin, label (N,), without NaN; learned (C,) bool
    Example:
        >>> margin, label = torch.tensor([5.0, 6.0, 7.0, -9.0, -8.0, -7.0]), torch.tensor([0, 0, 0, 1, 1, 1])
        >>> align(margin, label, torch.tensor([True, False]))
        tensor([5., 6., 7., 5., 6., 7.])
    """
    trusted = learned[label]
    if bool(trusted.all()) or not bool(trusted.any()):
        return margin
    centre = margin[trusted].median()
    shift = torch.zeros(len(learned), dtype=margin.dtype)
    for unknown in (~learned).nonzero().squeeze(1).tolist():
        shift[unknown] = centre - margin[label == unknown].median()
    return margin + shift[label]


def as_elsewhere(wrong: Tensor, margin: Tensor, label: Tensor, learned: Tensor) -> Tensor:
    """Chances that a label is wrong, where in a class that was not learned all votes are against all labels.

    As many labels of such a class are taken for wrong as of the others, those with the lowest margins; none
    where no class was learned.

    Shape:
        wrong, margin, label (N,), without NaN; learned (C,) bool
    Example:
        >>> wrong, margin = torch.tensor([1.0, 0.0, 1.0, 1.0]), torch.tensor([-3.0, 4.0, -9.0, -8.0])
        >>> as_elsewhere(wrong, margin, torch.tensor([0, 0, 1, 1]), torch.tensor([True, False]))
        tensor([1., 0., 1., 0.])
    """
    trusted = learned[label]
    rate = float(wrong[trusted].double().mean()) if bool(trusted.any()) else 0.0
    found = wrong.float()
    for unknown in (~learned).nonzero().squeeze(1).tolist():
        rows = (label == unknown).nonzero().squeeze(1)
        lowest = rows[margin[rows].argsort()[: round(rate * len(rows))]]
        found = found.index_fill(0, rows, 0.0).index_fill(0, lowest, 1.0)
    return found
