"""Map permanent sample numbers to rows of a table, on any device, without host synchronisation."""

from __future__ import annotations

import torch
from torch import Tensor


class Rows:
    """The row of each sample in ``index``.

    Example:
        >>> Rows(torch.tensor([7, 3, 9])).of(torch.tensor([9, 7]))
        tensor([2, 0])
    """

    def __init__(self, index: Tensor) -> None:
        self.index = index
        self.is_range = bool((index.cpu() == torch.arange(len(index))).all())
        self.order = index.argsort()
        self.sorted = index[self.order]
        if bool((self.sorted[1:] == self.sorted[:-1]).any()):
            twice = int(self.sorted[1:][self.sorted[1:] == self.sorted[:-1]][0])
            raise ValueError(f"sample {twice} occurs twice in index")

    def __len__(self) -> int:
        return len(self.index)

    def of(self, index: Tensor) -> Tensor:
        """Rows of these samples; an unknown number gives an arbitrary row, see ``check``."""
        if self.is_range:
            return index
        return self.order[torch.searchsorted(self.sorted, index).clamp_max(len(self) - 1)]

    def check(self, index: Tensor) -> None:
        """ValueError if a number is not in ``index``."""
        known = (index >= 0) & (index < len(self)) if self.is_range else self.index[self.of(index)] == index
        if not bool(known.all()):
            unknown = int(index[~known][0])
            raise ValueError(f"sample {unknown} is not in the training data of {len(self)} samples")
