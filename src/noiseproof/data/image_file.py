"""One image file to pixels: four formats, a size limit, and a plain reason when it is refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..files import DamagedFileError, read_bytes

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp"})
MOST_PIXELS = 64_000_000
MOST_BYTES = 1 << 29
CHANNELS = {"RGB": 3, "L": 1}
BILINEAR = 2
"""Pillow's number for it, so that Pillow is imported only when an image is read."""


def read_image(
    path: str | Path, *, mode: str = "RGB", size: tuple[int, int] | None = None
) -> NDArray[np.uint8]:
    """Pixels (channels, height, width); ``size`` (height, width) resizes bilinearly, transparency is white.

    Every problem, from a missing file to a wrong checksum, is a ValueError or an OSError with its reason.
    """
    content = _content(Path(path))
    try:
        image = on_white(_decoded(content)).convert(mode)
    except (OSError, ValueError):
        raise
    except Exception as problem:  # decoders raise anything on hostile bytes
        raise ValueError(f"{type(problem).__name__}: {problem}") from problem
    if size is not None and image.size != (size[1], size[0]):
        image = image.resize((size[1], size[0]), resample=BILINEAR)
    pixels = np.asarray(image, dtype=np.uint8).reshape(image.height, image.width, CHANNELS[mode])
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, MOST_BYTES)
    except DamagedFileError as problem:
        raise ValueError(problem.reason) from None


def _decoded(content: bytes) -> Image:
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError:  # its message shows an address in memory
        raise ValueError("no JPEG, PNG, WebP or BMP image") from None
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise ValueError(f"{width} x {height} pixels are more than {MOST_PIXELS}")
    if image.format == "PNG":
        image.verify()  # checksums; the image must be opened again afterwards
        image = Image.open(io.BytesIO(content), formats=FORMATS)
    if image.mode.startswith(("I", "F")):
        raise ValueError(f"pixels of mode {image.mode} do not fit into 8 bits: convert the file first")
    image.load()
    return image


def on_white(image: Image) -> Image:
    """The image as it looks on white paper: what is transparent would else become black, or anything."""
    from PIL import Image as pillow  # noqa: N813

    if not ("A" in image.getbands() or "transparency" in image.info):
        return image
    layer = image.convert("RGBA")
    return pillow.alpha_composite(pillow.new("RGBA", layer.size, "white"), layer).convert("RGB")
