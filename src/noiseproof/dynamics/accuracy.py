"""Accuracies under label noise: on given labels, on clean labels, and on right and wrong labels separately.

An accuracy without samples is None.
"""

from __future__ import annotations

import torch
from torch import Tensor


def accuracy(prediction: Tensor, label: Tensor) -> float | None:
    """Share of predictions that equal the label; samples with a prediction below 0 ("not seen") are ignored.

    Example:
        >>> accuracy(torch.tensor([0, 1, 1, -1]), torch.tensor([0, 1, 0, 0])), accuracy(*torch.zeros(2, 0))
        (0.6666666666666666, None)
    """
    seen = prediction >= 0
    count = int(seen.sum())
    return int(((prediction == label) & seen).sum()) / count if count else None


def class_accuracy(prediction: Tensor, label: Tensor, num_classes: int) -> list[float | None]:
    """Accuracy on the samples of each class; None for a class without samples.

    Example:
        >>> class_accuracy(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]), 3)
        [0.5, 1.0, None]
    """
    seen = prediction >= 0
    total = torch.bincount(label[seen], minlength=num_classes).tolist()
    right = torch.bincount(label[seen & (prediction == label)], minlength=num_classes).tolist()
    return [hits / count if count else None for hits, count in zip(right, total, strict=True)]


def subset_accuracies(
    prediction: Tensor, label: Tensor, clean_label: Tensor | None
) -> dict[str, float | None]:
    r"""Accuracies of training predictions, with r the share of wrong labels.

    ``corrupted``: on the given labels; ``intact``: on the clean labels; ``clean_subset`` and
    ``noisy_subset``: on the given labels of samples whose label is right, or wrong. corrupted = (1-r)
    clean_subset + r noisy_subset. All except the first are None without clean labels.

    Shape:
        prediction, label, clean_label (N,) int64
    Example:
        >>> label, truth = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 1])
        >>> subset_accuracies(torch.tensor([0, 1, 0, 0]), label, truth)
        {'corrupted': 0.75, 'intact': 0.75, 'clean_subset': 1.0, 'noisy_subset': 0.5}

    Reference:
        Wang et al., Derivative Manipulation / Gradient Rescaling, Table 3; IMAE, Table 6
    """
    found = {"corrupted": accuracy(prediction, label)}
    if clean_label is None:
        return found | {"intact": None, "clean_subset": None, "noisy_subset": None}
    right = label == clean_label
    return found | {
        "intact": accuracy(prediction, clean_label),
        "clean_subset": accuracy(prediction[right], label[right]),
        "noisy_subset": accuracy(prediction[~right], label[~right]),
    }


def hybrid_accuracy(
    test: float | None, test_count: int, intact: float | None, train_count: int
) -> float | None:
    """Accuracy on the true labels of the test set and all training inputs combined.

    Example:
        >>> hybrid_accuracy(0.9, 100, 0.6, 500)
        0.65

    Reference:
        IMAE, Table 6; its numbers imply all training inputs, not only those with right labels
    """
    if test is None or intact is None:
        return None
    return (test * test_count + intact * train_count) / (test_count + train_count)
