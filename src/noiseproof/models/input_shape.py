"""The input shape of a network, checked on every call; error messages name the shape and a remedy."""

import math
from typing import NamedTuple

import torch


class Images(NamedTuple):
    """Batches (N, channels, H, W), with H and W equal to ``size`` or, unless ``exact``, not below it."""

    channels: int
    size: tuple[int, int] = (1, 1)
    exact: bool = False

    def check(self, shape: torch.Size) -> None:
        if len(shape) == 2:
            raise ValueError(
                f"the network takes images (N, C, H, W), but the input has shape {tuple(shape)}:"
                f" for rows of {shape[1]} numbers use mlp"
            )
        if len(shape) != 4 or shape[1] != self.channels:
            hint = "; add the batch dimension with x.unsqueeze(0)" if len(shape) == 3 else ""
            raise ValueError(
                f"input of shape {tuple(shape)} does not fit: expected (N, {self.channels}, H, W)"
                f" (in_channels={self.channels}){hint}"
            )
        self.check_size(shape[2], shape[3])

    def check_size(self, height: int, width: int) -> None:
        if self.exact and (height, width) != self.size:
            raise ValueError(
                f"images of {height} x {width} do not fit a network built for {self.size[0]} x"
                f" {self.size[1]}: build it with image_size=({height}, {width})"
            )
        if height < self.size[0] or width < self.size[1]:
            raise ValueError(
                f"images of {height} x {width} are too small: this network needs at least"
                f" {self.size[0]} x {self.size[1]}; enlarge them or choose a resnet"
            )


class Values(NamedTuple):
    """Batches (N, ...) with ``number`` values per sample."""

    number: int

    def check(self, shape: torch.Size) -> None:
        if len(shape) < 2 or math.prod(shape[1:]) != self.number:
            raise ValueError(
                f"input of shape {tuple(shape)} does not fit: expected (N, ...) with {self.number} values"
                " per sample (in_channels * height * width; for plain vectors pass in_channels only)"
            )
