"""Rows whose values are far from 1 train badly; nobody should have to find out by a bad accuracy."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from ..data import LabelledData

LARGE = 100.0
"""Root mean square of a column that is warned of; networks expect about 1."""


def warn_of_scale(data: LabelledData, model: str) -> None:
    """Warn of the largest column of rows in memory, where the network takes them as they are."""
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
