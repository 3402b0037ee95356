"""Images read from their files when a batch asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .broken import BrokenFile, BrokenFileError
from .image_file import CHANNELS, read_image


class ImageFiles:
    """Lazily read images of one size as uint8 (N, channels, height, width).

    ``size`` resizes every image, either to a square or to (height, width); without it all images must
    have the same size. ``index`` holds the sample numbers that messages name, by default positions.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        mode: str = "RGB",
        size: int | tuple[int, int] | None = None,
        index: Sequence[int] | None = None,
    ) -> None:
        if mode not in CHANNELS:
            raise ValueError(f"mode={mode!r} is unknown, choose one of {', '.join(CHANNELS)}")
        self.paths = [str(path) for path in paths]
        self.index = list(range(len(self.paths))) if index is None else list(index)
        self.mode = mode
        self.size = (size, size) if isinstance(size, int) else size
        if self.size is not None and min(self.size) < 1:
            raise ValueError(f"size={size!r} must be at least 1")

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        if len(positions) == 0:
            return torch.empty((0, CHANNELS[self.mode], *(self.size or (0, 0))), dtype=torch.uint8)
        images = [self._image(int(position)) for position in positions]
        for position, image in zip(positions, images, strict=True):
            if image.shape != images[0].shape:
                raise ValueError(
                    f"{self._described(int(positions[0]), images[0])} but"
                    f" {self._described(int(position), image)}: pass size=... to bring images to one size"
                )
        return torch.from_numpy(np.stack(images))

    def broken(self) -> list[BrokenFile]:
        """Reads every file once and lists those that cannot be used."""
        found = []
        for position in range(len(self)):
            try:
                self._image(position)
            except BrokenFileError as error:
                found.append(error.broken)
        return found

    def _image(self, position: int) -> NDArray[np.uint8]:
        path = self.paths[position]
        try:
            return read_image(path, mode=self.mode, size=self.size)
        except (OSError, ValueError) as problem:
            raise BrokenFileError(BrokenFile(self.index[position], path, str(problem))) from problem

    def _described(self, position: int, image: NDArray[np.uint8]) -> str:
        height, width = image.shape[1:]
        return f"sample {self.index[position]} ({self.paths[position]}) is {width} x {height}"
