"""Whether a network has learned anything, and what to do where it has not."""

from __future__ import annotations

import math
import warnings

from torch import Tensor

from ..data import LabelledData
from ..losses import MarginLoss, curve
from ..losses.curves.curve import advise
from ..methods import LossAlone, Method
from .config import Config

LITTLE = 0.08
"""Less than this share of the way from the majority share to all labels is hardly a beginning; at 80% wrong
labels of ten classes a good network goes twice as far."""
UNSURE = 0.25
"""A network that gives its predictions less than this share of the probability that they agree with labels
has hardly begun."""
FEW_STEPS = 1000


def warn_of_no_learning(
    logits: Tensor, data: LabelledData, method: Method, config: Config, steps: int
) -> None:
    """Warn of a network that ends where it began: near the majority share, or unsure of everything."""
    told = not_learned(logits, data)
    if told is not None:
        warnings.warn(f"{told}: {remedy(method, config, data.num_classes, steps)}", stacklevel=2)


def not_learned(logits: Tensor, data: LabelledData) -> str | None:
    """What a network that has learned nothing does with its training data; None where it has learned.

    Shape:
        logits (N, C), of the samples of ``data``, with the labels training saw
    Example:
        >>> import torch
        >>> data = LabelledData(torch.rand(20, 2), [0] * 12 + [1] * 8, class_names=["cat", "dog"])
        >>> print(not_learned(torch.tensor([[3.0, 0.0]]).expand(20, 2), data))
        the network has learned nothing: it agrees with 60.0% of the training labels, always saying 'cat'
        would agree with 60.0%
        >>> print(not_learned(10 * torch.nn.functional.one_hot(data.label).float(), data))
        None
    """
    label = data.label.to(logits.device)
    counts = label.bincount(minlength=data.num_classes)
    agreement = float((logits.argmax(1) == label).double().mean())
    majority = float(counts.max()) / len(label)
    agreed = f"it agrees with {100 * agreement:.1f}% of the training labels"
    usual = data.class_names[int(counts.argmax())]
    always = f"always saying {usual!r} would agree with {100 * majority:.1f}%"
    if agreement <= majority + 2 * math.sqrt(majority * (1 - majority) / len(label)):
        return f"the network has learned nothing: {agreed}, {always}" if majority < 1 else None
    if agreement < majority + LITTLE * (1 - majority):
        return f"the network has hardly begun to learn: {agreed}, {always}"
    sure = float(logits.softmax(1).amax(1).double().mean())
    if sure < UNSURE * agreement:
        return f"the network has hardly begun to learn: {agreed}, but is {100 * sure:.1f}% sure on average"
    return None


def remedy(method: Method, config: Config, classes: int, steps: int) -> str:
    """What is likeliest to help."""
    loss = method.criterion if isinstance(method, LossAlone) else None
    words = []
    if isinstance(loss, MarginLoss):
        try:
            words = advise(curve(loss, classes), classes)[:1]
        except (ValueError, NotImplementedError):  # a loss of the user's without a largest emphasis
            words = []
    if not words and steps < FEW_STEPS:
        words = [f"{steps:,} steps are few, train longer: more epochs"]
    if not words:
        words = [f"try another lr than {config.lr:g}" + ("" if config.loss == "ce" else ", or the loss ce")]
    return "; ".join([*words, "if nothing helps, the inputs may say nothing about the labels"])
