"""Small pictures of single samples: the input, and its margin over the epochs."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .embed import data_uri

LARGEST_SIDE = 96
SMALL = 48
"""Up to this side PNG is smaller than JPEG, and exact."""
SPARK = (100.0, 24.0)


def thumbnail(image: NDArray[np.uint8]) -> str:
    """A data: address of an image (H, W, 3), at most 96 pixels wide and high.

    Example:
        >>> thumbnail(np.zeros((200, 100, 3), np.uint8))[:23]
        'data:image/jpeg;base64,'
    """
    from PIL import Image

    picture = Image.fromarray(image)
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    kind = "png" if max(picture.size) <= SMALL else "jpeg"
    memory = io.BytesIO()
    picture.save(memory, kind, **({"optimize": True} if kind == "png" else {"quality": 80}))
    return data_uri(memory.getvalue(), kind)


def spark_points(margin: Tensor, limit: float) -> str:
    """Points of an SVG polyline: the margins (E,) of one sample from left to right, 0 at half height.

    Example:
        >>> import torch
        >>> spark_points(torch.tensor([-10.0, torch.nan, 10.0]), 8.0)
        '0.0,24.0 100.0,0.0'
    """
    values = margin.float().tolist()
    width, height = SPARK
    step = width / max(1, len(values) - 1)
    kept = [(place * step, value) for place, value in enumerate(values) if value == value]
    heights = [0.5 - 0.5 * max(-1.0, min(1.0, value / limit)) for _, value in kept]
    return " ".join(f"{x:.1f},{height * share:.1f}" for (x, _), share in zip(kept, heights, strict=True))
