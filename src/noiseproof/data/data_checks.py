"""Checks of a whole dataset that are made once."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def check_index(index: Tensor, count: int) -> None:
    """One number >= 0 of its own for each sample."""
    if len(index) != count:
        raise ValueError(f"index has {len(index)} entries for {count} samples")
    numbers, counts = np.unique(index.cpu().numpy(), return_counts=True)
    if numbers[0] < 0 or counts.max() > 1:
        number = numbers[0] if numbers[0] < 0 else numbers[counts.argmax()]
        raise ValueError(f"index contains {number}, but each sample needs a number >= 0 of its own")


def check_no_repeats(rows: NDArray[np.int64]) -> None:
    """No position twice."""
    positions, counts = np.unique(rows, return_counts=True)
    if len(positions) < len(rows):
        where = int((counts > 1).argmax())
        raise ValueError(
            f"position {positions[where]} is asked for {counts[where]} times, but a subset has every sample"
            " once because its permanent index names one sample; batch may repeat samples"
        )


def warn_of_empty_classes(label: Tensor, class_names: tuple[str, ...]) -> None:
    counts = torch.bincount(label.cpu(), minlength=len(class_names))
    empty = [f"{number} ({class_names[number]})" for number in (counts == 0).nonzero().flatten().tolist()]
    if empty:
        more = f" and {len(empty) - 10} more" if len(empty) > 10 else ""
        warnings.warn(f"no sample has the label {', '.join(empty[:10])}{more}", stacklevel=4)
