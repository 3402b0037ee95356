"""What happens when data that is made holds the same input more than once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from torch import Tensor

from .duplicate_pairs import Pairs
from .inputs import Inputs, read_rows, streams
from .raw_inputs import RawInputs
from .repeats import AT_ONCE

POLICIES = ("ignore", "warn", "error")
CHEAP_BYTES, CHEAP_SAMPLES = 1 << 28, 1 << 21
"""Inputs above this size or number are not looked through unless it is asked for."""
SHOWN = 3
_left_to_caller: ContextVar[bool] = ContextVar("duplicates are left to the caller", default=False)


@contextmanager
def left_to_caller() -> Iterator[None]:
    """Inside, nothing is looked for by default: the caller will do it once, with a policy of its own."""
    token = _left_to_caller.set(True)
    try:
        yield
    finally:
        _left_to_caller.reset(token)


def check_policy(policy: str | None) -> None:
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"duplicates={policy!r} is unknown, choose one of {', '.join(POLICIES)}")


def report_duplicates(
    inputs: Inputs,
    label: Tensor,
    index: Tensor,
    class_names: Sequence[str],
    policy: str | None,
    *,
    stacklevel: int,
) -> None:
    """Warn or raise as ``policy`` says; None warns of the same input under different labels, where that is
    cheap to find out and the input is not the same value throughout."""
    check_policy(policy)
    if policy == "ignore" or (policy is None and (_left_to_caller.get() or not is_cheap(inputs))):
        return
    inputs = inputs.cells() if isinstance(inputs, RawInputs) else inputs
    pairs = Pairs.among(inputs)
    if policy is None:
        pairs = _without_placeholders(inputs, pairs.conflicting(label))
    if len(pairs):
        shown = [pair.with_names(class_names) for pair in pairs.described(label, index, SHOWN)]
        message = _message(shown, len(pairs))
        if policy == "error":
            raise ValueError(message)
        warnings.warn(message, stacklevel=stacklevel)


def is_cheap(inputs: Inputs) -> bool:
    """In the memory of this machine and of moderate size."""
    if isinstance(inputs, RawInputs):
        return len(inputs) <= CHEAP_SAMPLES
    if streams(inputs) or not isinstance(inputs, (Tensor, np.ndarray)):
        return False
    nearby = inputs.device.type == "cpu" if isinstance(inputs, Tensor) else True
    return nearby and inputs.nbytes <= CHEAP_BYTES and len(inputs) <= CHEAP_SAMPLES


def _without_placeholders(inputs: Inputs, pairs: Pairs) -> Pairs:
    """Those whose input has more than one value, unlike an empty image."""
    firsts, inverse = np.unique(pairs.first, return_inverse=True)
    telling = [np.empty(0, bool)]
    for start in range(0, len(firsts), AT_ONCE):
        rows = read_rows(inputs, firsts[start : start + AT_ONCE])
        rows = rows.reshape(len(rows), -1)
        telling.append((rows != rows[:, :1]).any(1).numpy())
    return pairs.where(np.concatenate(telling)[inverse])


def _message(shown: list[str], count: int) -> str:
    more = f"; and {count - len(shown)} more" if count > len(shown) else ""
    return (
        f"{'; '.join(shown)}{more}: keep one of each (noiseproof.data.find_duplicates(data) lists"
        ' them), or add duplicates="ignore" to the data, as in csv(path="rows.csv", duplicates="ignore")'
    )
