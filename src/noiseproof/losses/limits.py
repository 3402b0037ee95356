"""Hyper-parameters are checked once, at construction, with a message that names value and rule."""

import math
from collections.abc import Callable, Collection


def number(loss: str, parameter: str, value: object, rule: str, holds: Callable[[float], bool]) -> float:
    """``value`` as a float for which ``holds`` is true.

    >>> number("gce", "q", 0.7, "0 < q <= 1", lambda q: 0 < q <= 1)
    0.7
    >>> number("gce", "q", 0, "0 < q <= 1", lambda q: 0 < q <= 1)
    Traceback (most recent call last):
    ValueError: gce: q=0 is out of range, it must satisfy 0 < q <= 1
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{loss}: {parameter} must be a number, got {value!r}")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not (math.isfinite(found) and holds(found)):
        raise ValueError(f"{loss}: {parameter}={value!r} is out of range, it must satisfy {rule}")
    return found


def whole(loss: str, parameter: str, value: object, least: int, most: int = 2**53) -> int:
    """``value`` as an int between the bounds; 3.0 counts as 3."""
    rule = f"a whole number from {least} to {most}"
    return int(number(loss, parameter, value, rule, lambda n: least <= n <= most and n == int(n)))


def choice(loss: str, parameter: str, value: object, known: Collection[str]) -> str:
    """``value`` if it is one of the known words."""
    if not isinstance(value, str) or value not in known:
        words = ", ".join(repr(word) for word in known)
        raise ValueError(f"{loss}: {parameter}={value!r} is unknown, choose one of {words}")
    return value
