"""Warnings about the scale of inputs, the size of steps, and networks that have learned nothing."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from ..data import LabelledData
from ..losses import MarginLoss, curve
from ..losses.curves.curve import advise
from ..methods import LossMethod, Method
from .config import Config
from .optimizer import parse_optimizer

MAX_SCALE = 100.0
"""A column with a larger root mean square gives a warning; networks learn best from values around 1."""
MAX_STEP = 1.0
"""A larger product of emphasis and learning rate gives a warning; cross entropy at lr=0.1 has 0.1."""
MIN_EMPHASIS = 2.0
"""Smallest peak emphasis that gives a warning; below it, the learning rate is large, not the loss."""


def warn_of_scale(data: LabelledData, model: str) -> None:
    """Warn if a column of rows in memory has large values, unless the network standardizes them."""
    rows = data.inputs
    if not model.startswith("mlp") or "standardize" in model:
        return
    if not isinstance(rows, Tensor) or rows.dim() != 2 or not rows.is_floating_point():
        return
    sizes = torch.linalg.vector_norm(rows, dim=0) / math.sqrt(len(rows))
    worst = int(sizes.argmax())
    if float(sizes[worst]) > MAX_SCALE:
        name = f"column {data.columns[worst]!r}" if data.columns else f"value {worst} of the samples"
        warnings.warn(
            f"{name} has values around {float(sizes[worst]):.3g}, networks learn best from values around 1:"
            " scale it, or use the model 'mlp(standardize=True)'",
            stacklevel=2,
        )


def warn_of_steps(method: Method, config: Config) -> None:
    """Warn if the largest emphasis of the loss times the learning rate far exceeds that of cross entropy.

    Adam, ``clip`` and normalisation over the batch limit the steps, so there is no warning with them. A small
    network with batch norm tolerates large steps, as measured in tables/gr_defaults.
    """
    if not isinstance(method, LossMethod) or parse_optimizer(config.optimizer)[0] != "sgd" or config.clip:
        return
    if config.model.startswith("mlp") and "norm=True" in config.model:
        return
    loss = method.criterion
    if not isinstance(loss, MarginLoss) or loss.compares_rows():
        return
    try:
        peak = loss.peak().emphasis
    except (ValueError, NotImplementedError):  # a user's loss whose largest emphasis is unknown
        return
    if peak >= MIN_EMPHASIS and peak * config.lr >= MAX_STEP:
        remedy = "" if 'normalize="none"' not in str(loss) else 'normalize="batch", '
        lr = 10.0 ** (math.ceil(math.log10(MAX_STEP / peak)) - 1)  # the largest power of ten below the limit
        warnings.warn(
            f"{config.loss} has emphases up to {peak:.3g}, cross entropy up to 1: at lr={config.lr:g} the"
            f" network may learn nothing; use {remedy}unit_max({config.loss}) or lr={lr:g}",
            stacklevel=2,
        )


MIN_GAIN = 0.08
"""Minimum of (agreement - majority) / (1 - majority), from the shares of predicted labels and of the largest
class; less gives a warning. With 80% wrong labels in ten classes a good network has twice this value."""
MIN_CONFIDENCE = 0.25
"""Minimum of the mean confidence divided by the agreement with the labels; less gives a warning."""
FEW_STEPS = 1000


def warn_of_no_learning(
    logits: Tensor, data: LabelledData, method: Method, config: Config, steps: int
) -> None:
    """Warn if the trained network predicts little more than the largest class, or has very low confidence."""
    problem = not_learned(logits, data)
    if problem is not None:
        warnings.warn(f"{problem}: {remedy(method, config, data.num_classes, steps)}", stacklevel=2)


def not_learned(logits: Tensor, data: LabelledData) -> str | None:
    """A message that compares a network that has learned nothing with its labels; None if it has learned.

    Shape:
        logits (N, C), of the samples of ``data``, which has the labels used in training
    Example:
        >>> import torch
        >>> data = LabelledData(torch.rand(20, 2), [0] * 12 + [1] * 8, class_names=["cat", "dog"])
        >>> print(not_learned(torch.tensor([[3.0, 0.0]]).expand(20, 2), data))
        the network has learned nothing: it agrees with 60.0% of the training labels, always predicting 'cat'
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
    always = f"always predicting {usual!r} would agree with {100 * majority:.1f}%"
    if agreement < 1 and agreement <= majority + 2 * math.sqrt(majority * (1 - majority) / len(label)):
        return f"the network has learned nothing: {agreed}, {always}" if majority < 1 else None
    if agreement < majority + MIN_GAIN * (1 - majority):
        return f"the network has learned almost nothing: {agreed}, {always}"
    confidence = float(logits.softmax(1).amax(1).double().mean())
    if confidence < MIN_CONFIDENCE * agreement:
        mean = f"its mean confidence is {100 * confidence:.1f}%"
        return f"the network has learned almost nothing: {agreed}, but {mean}"
    return None


def remedy(method: Method, config: Config, classes: int, steps: int) -> str:
    """The change of settings that is most likely to help."""
    loss = method.criterion if isinstance(method, LossMethod) else None
    words = []
    if isinstance(loss, MarginLoss):
        try:
            words = advise(curve(loss, classes), classes)[:1]
        except (ValueError, NotImplementedError):  # a user's loss whose largest emphasis is unknown
            words = []
    if not words and steps < FEW_STEPS:
        words = [f"{steps:,} steps are few, train for more epochs"]
    if not words:
        words = [f"try another lr than {config.lr:g}" + ("" if config.loss == "ce" else ", or the loss ce")]
    return "; ".join([*words, "if nothing helps, the labels may not depend on the inputs"])
