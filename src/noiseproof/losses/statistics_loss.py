"""Losses that need more of a row than its margin: the other row statistics, or all classes at once."""

import torch
from torch import Tensor

from .base import Loss
from .rows import Rows


class RowLoss(Loss):
    """Implement ``index_rows``; rows that are ignored reach it as zeros and are dropped after it."""

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        """Unreduced loss of class indices, (N, C), (N,) -> (N,)."""
        raise NotImplementedError

    def hard_rows(self, rows: Rows) -> Tensor:
        if rows.keep is None:
            return self.index_rows(rows.logits, rows.target, None)
        logits = torch.where(rows.keep.unsqueeze(1), rows.logits, 0.0)
        return torch.where(rows.keep, self.index_rows(logits, rows.target, rows.keep), 0.0)
