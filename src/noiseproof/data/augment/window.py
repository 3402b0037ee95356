"""Another window into every image of a batch, by one gather."""

from __future__ import annotations

import torch
from torch import Tensor

FILLS = ("zero", "edge")


def window(images: Tensor, top: Tensor, left: Tensor, height: int, width: int, fill: str = "zero") -> Tensor:
    """Rows from ``top`` and columns from ``left`` of every image; beyond its edge zero or the nearest pixel.

    Shape:
        images (N, C, H, W), top and left (N,) int64, may be negative; result (N, C, height, width)
    Example:
        >>> one = torch.tensor([[[[1, 2], [3, 4]]]])
        >>> window(one, torch.tensor([-1]), torch.tensor([1]), 2, 2)
        tensor([[[[0, 0], [2, 0]]]])
    """
    rows = top[:, None] + torch.arange(height, device=images.device)
    columns = left[:, None] + torch.arange(width, device=images.device)
    return pixels(images, rows[:, :, None], columns[:, None, :], fill)


def pixels(images: Tensor, rows: Tensor, columns: Tensor, fill: str = "zero") -> Tensor:
    """The pixels of every image at (row, column), for coordinates that broadcast to (N, height, width)."""
    high, wide = images.shape[-2:]
    flat = rows.clamp(0, high - 1) * wide + columns.clamp(0, wide - 1)
    where = flat.flatten(1)[:, None].expand(-1, images.shape[1], -1)
    found = images.flatten(2).gather(2, where).view(*images.shape[:2], *flat.shape[1:])
    if fill == "edge":
        return found
    inside = (rows >= 0) & (rows < high) & (columns >= 0) & (columns < wide)
    return torch.where(inside[:, None], found, 0)
