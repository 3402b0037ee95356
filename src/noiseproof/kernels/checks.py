"""Checks for logits that are not finite, made where reading values needs no synchronisation."""

import contextlib
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from .tracing import values_can_be_checked


def check_margins(margin: Tensor, logits: Tensor, target: Tensor) -> None:
    """Raise ValueError naming the first row whose margin is not finite."""
    if not values_can_be_checked(margin) or math.isfinite(margin.sum().item()):
        return
    bad = (~margin.reshape(-1).isfinite()).nonzero()
    if len(bad):
        row = int(bad[0])
        raise ValueError(_diagnosis(row, logits[row].detach(), int(target[row]), len(bad)))


def check_logits_finite(logits: Tensor) -> None:
    """Raise ValueError naming the first row with nan, +inf or nothing but -inf."""
    if not values_can_be_checked(logits) or logits.numel() == 0:
        return
    largest = logits.detach().amax(1)
    if math.isfinite(largest.sum().item()):
        return
    bad = (~largest.isfinite()).nonzero()
    if len(bad):
        row = int(bad[0])
        raise ValueError(f"logits of row {row} are not finite: {logits[row].tolist()[:8]}")


def _diagnosis(row: int, logits: Tensor, label: int, count: int) -> str:
    masked = logits == -torch.inf
    wrong = (~logits.isfinite() & ~masked).nonzero()
    if len(wrong):
        column = int(wrong[0])
        problem = f"logits[{row}, {column}] = {float(logits[column])}"
        advice = "the model has diverged or overflowed"
    elif masked[label]:
        problem = f"logits[{row}, {label}] = -inf is the label"
        advice = "a masked class cannot be the target"
    elif masked.sum() == len(logits) - 1:
        problem = f"logits[{row}] masks every class but the label"
        advice = "leave at least two classes"
    else:
        problem = f"the margin of row {row} overflows"
        advice = "scale the logits down"
    more = f" ({count} such rows)" if count > 1 else ""
    return f"{problem}{more}: {advice}"


@contextlib.contextmanager
def located(first_row: int) -> Iterator[None]:
    """Errors about a block of rows name the row of the batch the block starts at."""
    try:
        yield
    except ValueError as problem:
        if first_row == 0:
            raise
        raise ValueError(f"{problem} (rows counted from row {first_row} of the batch)") from problem
