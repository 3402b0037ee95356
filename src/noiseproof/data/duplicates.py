"""Samples with exactly the same input, and whether their labels agree."""

from __future__ import annotations

from .duplicate_pairs import Duplicate, Pairs
from .labelled import LabelledData
from .raw_inputs import RawInputs

__all__ = ["Duplicate", "find_duplicates"]


def find_duplicates(data: LabelledData) -> list[Duplicate]:
    """Every sample that repeats an earlier one byte for byte, in order; reads all inputs once.

    Example:
        >>> import torch
        >>> data = LabelledData(torch.tensor([[1, 2], [3, 4], [1, 2]]), [0, 1, 1], duplicates="ignore")
        >>> print(*find_duplicates(data))
        sample 2 repeats sample 0 (labels 0 and 1)
    """
    inputs = data.inputs.cells() if isinstance(data.inputs, RawInputs) else data.inputs
    return Pairs.among(inputs).described(data.label, data.index)
