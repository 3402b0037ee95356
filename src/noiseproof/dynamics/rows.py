"""From permanent sample numbers to rows of a table, on any device and without waiting for it."""

from __future__ import annotations

import torch
from torch import Tensor


class Rows:
    """Where each sample of ``index`` stands.

    Example:
        >>> Rows(torch.tensor([7, 3, 9])).of(torch.tensor([9, 7]))
        tensor([2, 0])
    """

    def __init__(self, index: Tensor) -> None:
        self.index = index
        self.usual = bool((index.cpu() == torch.arange(len(index))).all())
        self.order = index.argsort()
        self.sorted = index[self.order]
        if bool((self.sorted[1:] == self.sorted[:-1]).any()):
            twice = int(self.sorted[1:][self.sorted[1:] == self.sorted[:-1]][0])
            raise ValueError(f"sample {twice} occurs twice in index")

    def __len__(self) -> int:
        return len(self.index)

    def of(self, index: Tensor) -> Tensor:
        """Rows of these samples; a number that is not there gives the row of a neighbour, see ``check``."""
        if self.usual:
            return index
        return self.order[torch.searchsorted(self.sorted, index).clamp_max(len(self) - 1)]

    def check(self, index: Tensor) -> None:
        """Raise for the first number that is not there."""
        inside = (index >= 0) & (index < len(self)) if self.usual else self.index[self.of(index)] == index
        if not bool(inside.all()):
            stranger = int(index[~inside][0])
            raise ValueError(f"sample {stranger} is not in the training data of {len(self)} samples")
