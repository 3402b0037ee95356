"""A short proof that data is the same as before."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from torch import Tensor

from ..data import LabelledData

LOOKED_AT = 64
"""Inputs that are hashed of data that is large or in files, spread over it: enough to notice other data."""
MOST_BYTES = 1 << 28
"""Inputs in memory up to this size are hashed all."""


def fingerprint(data: LabelledData) -> dict[str, Any]:
    """Count and hash of indices, labels and inputs, of many or large ones only some.

    Example:
        >>> import torch
        >>> fingerprint(LabelledData(torch.zeros(2, 3), [0, 1]))["samples"]
        2
    """
    digest = hashlib.sha256()
    clean = data.label if data.clean_label is None else data.clean_label
    for numbers in (data.index, data.label, clean):
        digest.update(np.ascontiguousarray(numbers.cpu().numpy(), dtype="<i8").tobytes())
    inputs = data.batch(_looked_at(data)).input.cpu().contiguous()
    digest.update(str((inputs.dtype, tuple(inputs.shape))).encode())
    digest.update(inputs.numpy().tobytes())
    return {"samples": len(data), "sha256": digest.hexdigest()}


def _looked_at(data: LabelledData) -> list[int] | slice:
    """Positions of the inputs that are hashed."""
    if isinstance(data.inputs, Tensor) or type(data.inputs) is np.ndarray:
        first = data.batch([0]).input
        if len(data) * first.numel() * first.element_size() <= MOST_BYTES:
            return slice(None)
    count = min(LOOKED_AT, len(data))
    return sorted({place * (len(data) - 1) // max(1, count - 1) for place in range(count)})
