"""Confusion matrices of given and corrected labels, to evaluate corrections with clean labels."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class LabelCorrector(Protocol):
    """Protocol of methods that estimate the label of every sample: nal, selc, joint."""

    def corrected_labels(self) -> Tensor:
        """(N,) int64 in the order of the training data."""


class Confusions(NamedTuple):
    """Counts (C, C); [i, j] = number of samples of clean class i with the label j."""

    noisy: Tensor
    corrected: Tensor


def confusion(label: Tensor, clean_label: Tensor, num_classes: int) -> Tensor:
    """Number of samples of clean class i with the label j, (C, C) int64.

    Example:
        >>> confusion(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]), 2)
        tensor([[1, 1],
                [0, 1]])
    """
    for name, labels in (("label", label), ("clean_label", clean_label)):
        if labels.shape != label.shape or labels.dim() != 1:
            raise ValueError(f"{name} has the shape {tuple(labels.shape)}, expected one number per sample")
        stray = (labels < 0) | (labels >= num_classes)
        if bool(stray.any()):
            first = int(stray.nonzero()[0])
            raise ValueError(
                f"{name}[{first}] = {int(labels[first])} is not one of the {num_classes} classes"
            )
    cells = clean_label.cpu() * num_classes + label.cpu()
    return torch.bincount(cells, minlength=num_classes**2).reshape(num_classes, num_classes)


def confusions(method: LabelCorrector, label: Tensor, clean_label: Tensor, num_classes: int) -> Confusions:
    """Confusion matrices of given labels and of corrected labels.

    Shape:
        label (given), clean_label (N,) in the order of the training data
    Example:
        >>> from noiseproof.methods import SELC, TrainingInfo
        >>> label, truth = torch.tensor([0, 1]), torch.tensor([1, 1])
        >>> method = SELC(alpha=0.4, start=0)
        >>> method.prepare(TrainingInfo(label, torch.arange(2), 2, None, epochs=1, seed=0))
        >>> _ = method.step(torch.tensor([[0.0, 9.0]]), label[:1], torch.tensor([0]), epoch=1)
        >>> confusions(method, label, truth, 2)
        Confusions(noisy=tensor([[0, 0], [1, 1]]), corrected=tensor([[0, 0], [0, 2]]))

    Reference:
        Noise Attention Learning, appendix: confusion matrices of noisy and corrected labels
    """
    after = method.corrected_labels().to(label.device)
    return Confusions(confusion(label, clean_label, num_classes), confusion(after, clean_label, num_classes))
