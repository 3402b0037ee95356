"""Images of every allowed format, and ways to break them; a function of the seed alone."""

import io

import numpy as np
from PIL import Image

FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP", "bmp": "BMP"}


def picture(seed, width=24, height=16):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def encoded(seed, suffix, **size):
    out = io.BytesIO()
    options = {"lossless": True} if suffix == "webp" else {}
    Image.fromarray(picture(seed, **size)).save(out, FORMATS[suffix], **options)
    return out.getvalue()


def truncated(content, generator):
    """Truncated anywhere except inside the last checksum of a PNG, after the pixels."""
    return content[: int(generator.integers(0, len(content) - 4))]


def flipped(content, generator):
    """One bit flipped."""
    broken = bytearray(content)
    broken[int(generator.integers(len(broken)))] ^= 1 << int(generator.integers(8))
    return bytes(broken)
