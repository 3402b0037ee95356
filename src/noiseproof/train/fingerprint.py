"""A short proof that data is the same as before."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from torch import Tensor

from ..data import LabelledData
from ..data.raw_inputs import raw_bytes

LOOKED_AT = 64
"""Inputs that are always hashed, spread over the data: enough to notice other data, cheap for any size."""
MOST_BYTES = 1 << 28
"""Inputs in memory up to this size are hashed all."""
ALL = "inputs_sha256"
"""Runs of older versions have no such hash."""


def fingerprint(data: LabelledData) -> dict[str, Any]:
    """Count, hash of indices, labels and some inputs; of all inputs, too, if in memory and not large.

    Example:
        >>> import torch
        >>> fingerprint(LabelledData(torch.zeros(2, 3), [0, 1]))["samples"]
        2
    """
    digest = hashlib.sha256()
    clean = data.label if data.clean_label is None else data.clean_label
    for numbers in (data.index, data.label, clean):
        digest.update(np.ascontiguousarray(numbers.cpu().numpy(), dtype="<i8").tobytes())
    count = min(LOOKED_AT, len(data))
    chosen = sorted({place * (len(data) - 1) // max(1, count - 1) for place in range(count)})
    _add_inputs(digest, data, chosen)
    found = {"samples": len(data), "sha256": digest.hexdigest()}
    if _is_small(data):
        everything = hashlib.sha256()
        _add_inputs(everything, data, slice(None))
        found[ALL] = everything.hexdigest()
    return found


def as_noted(now: Any, before: Any) -> Any:
    """The fingerprint as the version would have noted it that noted ``before``."""
    if isinstance(now, dict) and isinstance(before, dict) and ALL not in before:
        return {name: value for name, value in now.items() if name != ALL}
    return now


def _add_inputs(digest: Any, data: LabelledData, positions: list[int] | slice) -> None:
    if data.is_raw:
        digest.update(raw_bytes(data.inputs))
        return
    inputs = data.batch(positions).input.cpu().contiguous()
    digest.update(str((inputs.dtype, tuple(inputs.shape))).encode())
    digest.update(inputs.numpy().tobytes())


def _is_small(data: LabelledData) -> bool:
    if not (isinstance(data.inputs, Tensor) or type(data.inputs) is np.ndarray):
        return False
    first = data.batch([0]).input
    return len(data) * first.numel() * first.element_size() <= MOST_BYTES
