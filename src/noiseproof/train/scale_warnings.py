"""Warnings before training: columns whose values are far from 1, and losses with too large steps."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from ..data import LabelledData
from ..losses import MarginLoss
from ..methods import LossAlone, Method
from .config import Config
from .optimizer import parse_optimizer

LARGE = 100.0
"""Root mean square of a column above which a warning is given; networks expect about 1."""
LARGEST_STEP = 1.0
"""Emphasis times learning rate from which a warning is given; cross entropy at a rate of 0.1 has 0.1."""
TIMES_CE = 2.0
"""Emphasis from which a warning is given; below, the learning rate is large, not the loss."""


def warn_of_scale(data: LabelledData, model: str) -> None:
    """Warn of the largest column of rows in memory, unless the network standardizes them."""
    rows = data.inputs
    if not model.startswith("mlp") or "standardize" in model:
        return
    if not isinstance(rows, Tensor) or rows.dim() != 2 or not rows.is_floating_point():
        return
    sizes = torch.linalg.vector_norm(rows, dim=0) / math.sqrt(len(rows))
    worst = int(sizes.argmax())
    if float(sizes[worst]) > LARGE:
        name = f"column {data.columns[worst]!r}" if data.columns else f"value {worst} of the samples"
        warnings.warn(
            f"{name} has values around {float(sizes[worst]):.3g}, networks learn best from values around 1:"
            " scale it, or use the model 'mlp(standardize=True)'",
            stacklevel=2,
        )


def warn_of_steps(method: Method, config: Config) -> None:
    """Warn of a loss whose largest emphasis times the learning rate far exceeds that of cross entropy.

    Adam, ``clip`` and normalisation over the batch limit the steps, so there is no warning with them. A small
    network with batch norm tolerates large steps, as measured in tables/gr_defaults.
    """
    if not isinstance(method, LossAlone) or parse_optimizer(config.optimizer)[0] != "sgd" or config.clip:
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
    if peak >= TIMES_CE and peak * config.lr >= LARGEST_STEP:
        remedy = "" if 'normalize="none"' not in str(loss) else 'normalize="batch", '
        warnings.warn(
            f"{config.loss} has emphases up to {peak:.3g}, cross entropy up to 1: at lr={config.lr:g} the"
            f" network may learn nothing; use {remedy}unit_max({config.loss}) or lr={_rate(peak):g}",
            stacklevel=2,
        )


def _rate(peak: float) -> float:
    """The largest power of ten whose steps stay below the limit."""
    return float(10.0 ** (math.ceil(math.log10(LARGEST_STEP / peak)) - 1))
