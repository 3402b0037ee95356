"""One batch on its way to the model."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Batch(NamedTuple):
    """Inputs, given labels and permanent indices of some samples.

    Clean labels are not here: they serve metrics, never training.

    Shape:
        input (B, ...), label (B,) int64, index (B,) int64
    Example:
        >>> batch = Batch(torch.zeros(2, 3), torch.tensor([0, 1]), torch.tensor([7, 9]))
        >>> batch.to("cpu").index
        tensor([7, 9])
    """

    input: Tensor
    label: Tensor
    index: Tensor  # type: ignore[assignment]
    """Number of the sample in the dataset it came from; shadows ``tuple.index``."""

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """The same batch on another device."""
        return Batch(*(part.to(device, non_blocking=non_blocking) for part in self))
