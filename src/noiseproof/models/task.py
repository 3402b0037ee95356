"""The arguments of all networks: number of classes, channels, image size and dropout."""

import math
import operator
from typing import TypeAlias

from typing_extensions import Required, TypedDict

ImageSize: TypeAlias = int | tuple[int, int] | None
MAX_SIZE = 1 << 31
"""Upper bound of numbers of classes, channels, pixels and features."""


class Task(TypedDict, total=False):
    """The keywords of all factories; their other keywords are options of the network."""

    num_classes: Required[int]
    in_channels: int
    image_size: ImageSize
    dropout: float


TASK = tuple(Task.__annotations__)


def in_channels(task: Task) -> int:
    return count("in_channels", task.get("in_channels", 3))


def image_size(task: Task, default: int) -> tuple[int, int]:
    """Height and width; a single number is both.

    >>> image_size({"num_classes": 10, "image_size": 28}, default=32)
    (28, 28)
    """
    size = task.get("image_size")
    if size is None:
        return default, default
    pair = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if len(pair) != 2:
        raise ValueError(f"image_size={size!r} must be one number or (height, width)")
    return count("image_size", pair[0]), count("image_size", pair[1])


def dropout(task: Task) -> float:
    """The share of features set to zero, in [0, 1)."""
    share = task.get("dropout", 0.0)
    if isinstance(share, bool) or not isinstance(share, (int, float)):
        raise TypeError(f"dropout must be a number, got {share!r}")
    if not (math.isfinite(share) and 0 <= share < 1):
        raise ValueError(f"dropout={share!r} is out of range, it must satisfy 0 <= dropout < 1")
    return float(share)


def count(name: str, value: object) -> int:
    """``value`` as a positive int.

    >>> count("num_classes", 0)
    Traceback (most recent call last):
    ValueError: num_classes=0 must be at least 1
    """
    try:
        whole = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if isinstance(value, bool) or whole < 1:
        raise ValueError(f"{name}={value!r} must be at least 1")
    if whole >= MAX_SIZE:
        raise ValueError(f"{name}={value!r:.60} is out of range, it must be below 2**31")
    return whole


def widths(option: str, value: object) -> list[int]:
    """Layer widths from their form in spec strings.

    >>> widths("hidden", "256, 128"), widths("hidden", 64), widths("hidden", "")
    ([256, 128], [64], [])
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return [count(option, value)]
    if not isinstance(value, str):
        raise TypeError(f'{option} must be a string such as "256,256", got {value!r}')
    words = [word.strip() for word in value.split(",")] if value.strip() else []
    invalid = [word for word in words if not (word.isascii() and word.isdigit())]
    if invalid:
        raise ValueError(f'{option}={value!r}: {invalid[0]!r} is not a valid width: write it like "256,256"')
    return [count(option, int(word)) for word in words]
