"""Images that are read from their files on demand."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..files import DamagedFileError, read_bytes

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp"})
MAX_PIXELS = 64_000_000
MAX_BYTES = 1 << 29
CHANNELS = {"RGB": 3, "L": 1}
BILINEAR = 2
"""Pillow's constant, so that Pillow is imported only when an image is read."""


class ImageFiles:
    """Lazily read images of one size as uint8 (N, channels, height, width).

    ``size`` resizes every image, either to a square or to (height, width); without it all images must
    have the same size. ``index`` holds the sample numbers for messages, by default positions.
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
                    f" {self._described(int(position), image)}: pass size=... to resize all images"
                )
        return torch.from_numpy(np.stack(images))

    def broken(self) -> list[BrokenFile]:
        """Read every file once and return those that cannot be used."""
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


def read_image(
    path: str | Path, *, mode: str = "RGB", size: tuple[int, int] | None = None
) -> NDArray[np.uint8]:
    """Pixels (channels, height, width); ``size`` (height, width) resizes bilinearly, transparency is white.

    All problems, from a missing file to a wrong checksum, are raised as ValueError or OSError.
    """
    content = _content(Path(path))
    try:
        image = flatten_transparency(_decoded(content)).convert(mode)
    except (OSError, ValueError):
        raise
    except Exception as problem:  # decoders may raise any exception for malicious files
        raise ValueError(f"{type(problem).__name__}: {problem}") from problem
    if size is not None and image.size != (size[1], size[0]):
        image = image.resize((size[1], size[0]), resample=BILINEAR)
    pixels = np.asarray(image, dtype=np.uint8).reshape(image.height, image.width, CHANNELS[mode])
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, MAX_BYTES)
    except DamagedFileError as problem:
        raise ValueError(problem.reason) from None


def _decoded(content: bytes) -> Image:
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError:  # its message contains a memory address
        raise ValueError("it is not a JPEG, PNG, WebP or BMP image") from None
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise ValueError(f"{width} x {height} pixels are more than {MAX_PIXELS}")
    if image.format == "PNG":
        image.verify()  # checksums; the image must be opened again afterwards
        image = Image.open(io.BytesIO(content), formats=FORMATS)
    if image.mode.startswith(("I", "F")):
        raise ValueError(f"pixels of mode {image.mode} do not fit into 8 bits: convert the file first")
    image.load()
    return image


def flatten_transparency(image: Image) -> Image:
    """The image on a white background, if it has transparency; the colours behind that are arbitrary."""
    from PIL import Image as pillow  # noqa: N813

    if not ("A" in image.getbands() or "transparency" in image.info):
        return image
    layer = image.convert("RGBA")
    return pillow.alpha_composite(pillow.new("RGBA", layer.size, "white"), layer).convert("RGB")


class BrokenFile(NamedTuple):
    """A sample whose file cannot be used.

    Example:
        >>> print(BrokenFile(3, "cats/7.png", "image file is truncated"))
        sample 3, cats/7.png: image file is truncated
    """

    index: int  # type: ignore[assignment]
    path: str
    problem: str

    def __str__(self) -> str:
        return f"sample {self.index}, {self.path}: {self.problem}"


class BrokenFileError(ValueError):
    """A file cannot be used, and ``on_error`` is not "skip"; ``broken`` describes it."""

    def __init__(self, broken: BrokenFile) -> None:
        super().__init__(f'cannot read {broken} (repair or remove it, or load with on_error="skip")')
        self.broken = broken

    def __reduce__(self) -> tuple[type[BrokenFileError], tuple[BrokenFile]]:
        return BrokenFileError, (self.broken,)
