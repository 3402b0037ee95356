"""How many labels are wrong, in which classes, and what for: counted from the suspects."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Estimate(NamedTuple):
    """Noise as it is found, in plain numbers."""

    noise_rate: float
    """Share of labels taken for wrong."""
    class_noise_rate: list[float]
    """The same among the samples given each class; 0 for a class that is never given."""
    transition: list[list[float]]
    """``transition[i][j]`` = P(given j | clean i); the row of the identity for a class nothing belongs to."""


def estimate(label: Tensor, likely: Tensor, num_classes: int) -> Estimate:
    """Counts of (likely class, given label).

    Shape:
        label, likely (N,) int64; likely = given label, or for a suspect the class it seems to belong to, -1
        where no other class was ever likely: such a label is wrong, and says nothing of ``transition``
    Example:
        >>> estimate(torch.tensor([0, 0, 0, 1, 1]), torch.tensor([0, 0, 0, 1, 0]), 2)
        Estimate(noise_rate=0.2, class_noise_rate=[0.0, 0.5], transition=[[0.75, 0.25], [0.0, 1.0]])
    """
    known = likely >= 0
    cells = torch.bincount(likely[known] * num_classes + label[known], minlength=num_classes**2)
    counts = cells.reshape(num_classes, num_classes).double()
    given = torch.bincount(label, minlength=num_classes)
    right, clean = counts.diagonal(), counts.sum(1, keepdim=True)
    wrong = given - right
    transition = torch.where(clean > 0, counts / clean.clamp_min(1), torch.eye(num_classes))
    return Estimate(
        noise_rate=float(wrong.sum() / max(len(label), 1)),
        class_noise_rate=(wrong / given.clamp_min(1)).tolist(),
        transition=transition.tolist(),
    )
