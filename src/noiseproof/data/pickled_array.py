"""How a pickle spells an integer array, as data: names are compared, never imported or called.

Messages never show values: a few hundred bytes of nested tuples can print as gigabytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

RECONSTRUCT, NDARRAY, DTYPE, ENCODE = "array rebuild", "ndarray", "dtype", "text to bytes"
MENTIONS = {
    "numpy.core.multiarray _reconstruct": RECONSTRUCT,
    "numpy._core.multiarray _reconstruct": RECONSTRUCT,
    "numpy ndarray": NDARRAY,
    "numpy dtype": DTYPE,
    "_codecs encode": ENCODE,
}
INTEGERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
MOST_DIMENSIONS = 4
BytesOf: TypeAlias = Callable[[object], bytes]
"""Text or bytes to bytes, within the limits of the file."""


class PickleRefusedError(ValueError):
    """The file holds more than plain numbers, text, lists and integer arrays, or is damaged."""


@dataclass(frozen=True)
class Mention:
    """A name that a pickle mentions."""

    meaning: str


@dataclass
class DtypeShell:
    """A dtype whose byte order is not known yet."""

    code: str
    order: str = "|"

    def build(self, state: Any, bytes_of: BytesOf) -> None:
        if not (isinstance(state, tuple) and len(state) == 8 and state[2:5] == (None, None, None)):
            raise PickleRefusedError("a dtype of unknown form is not allowed")
        order = as_text(state[1])
        if order not in ("<", ">", "|", "=") or (order == "|" and self.code[1] != "1"):
            raise PickleRefusedError(f"a dtype of byte order {order!r} is not allowed")
        self.order = order

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.order + self.code)


@dataclass
class ArrayShell:
    """An array that waits for its content."""

    array: NDArray[Any] | None = None

    def build(self, state: Any, bytes_of: BytesOf) -> None:
        if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[2], DtypeShell)):
            raise PickleRefusedError("an array of unknown form is not allowed")
        _, shape, kind, fortran, content = state
        whole = isinstance(shape, tuple) and all(type(side) is int and side >= 0 for side in shape)
        if not whole or len(shape) > MOST_DIMENSIONS:
            raise PickleRefusedError(f"an array needs a shape of at most {MOST_DIMENSIONS} whole numbers")
        dtype = kind.dtype()
        content = bytes_of(content)
        if math.prod(shape) * dtype.itemsize != len(content):
            raise PickleRefusedError(f"an array of shape {shape} of {dtype} in {len(content)} bytes")
        self.array = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


Shell: TypeAlias = DtypeShell | ArrayShell


def reduced(mention: object, arguments: object, bytes_of: BytesOf) -> Shell | bytes:
    """What a call means, for the three calls that arrays and Python 3 bytes need."""
    match mention, arguments:
        case Mention(meaning="array rebuild"), (Mention(meaning="ndarray"), (0,), "b" | b"b"):
            return ArrayShell()
        case Mention(meaning="dtype"), (str() | bytes() as code, 0, 1) if as_text(code) in INTEGERS:
            return DtypeShell(as_text(code))
        case Mention(meaning="text to bytes"), (str() as text, "latin1" | "latin-1"):
            return bytes_of(text)
    meaning = mention.meaning if isinstance(mention, Mention) else type(mention).__name__
    raise PickleRefusedError(f"a call of {meaning} with these arguments is not allowed")


def as_text(value: object) -> str:
    """Text of Python 2 or 3; anything else is refused."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if not isinstance(value, str):
        raise PickleRefusedError(f"a {type(value).__name__} stands where text belongs")
    return value
