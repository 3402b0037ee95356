"""Logits of -inf: classes that are absent and add nothing."""

import torch
from torch import Tensor

from .differentiable import NEGATIVE_INFINITY
from .tracing import values_can_be_checked


def without_masked(logits: Tensor, dtype: torch.dtype) -> Tensor:
    """The logits with 0 for -inf."""
    return logits.to(dtype).nan_to_num(nan=torch.nan, posinf=torch.inf, neginf=0.0)


def sum_of_present(logits: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Row sums over the classes that are not masked, and how many those are, as columns."""
    if values_can_be_checked(logits):
        total = logits.sum(1, keepdim=True, dtype=dtype)
        if total.isfinite().all():
            return total, torch.full_like(total, logits.shape[1])
    present = (logits != NEGATIVE_INFINITY).sum(1, keepdim=True).to(dtype)
    return without_masked(logits, dtype).sum(1, keepdim=True), present
