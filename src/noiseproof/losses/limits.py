"""Hyper-parameters are checked once, at construction, with a message that names value and rule."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..grammar import unknown


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


def no_stray(loss: str, given: Iterable[str], known: Sequence[str]) -> None:
    """TypeError for an option that is none.

    >>> no_stray("gce", ["Q"], ["q", "reduction"])
    Traceback (most recent call last):
    TypeError: gce: unknown option 'Q' (known: q, reduction)
    """
    for name in given:
        if name not in known:
            raise TypeError(f"{loss}: {unknown('option', name, known)}")


def class_weights(weight: Any) -> Tensor | None:
    """One per class, copied."""
    if weight is None:
        return None
    weight = torch.as_tensor(weight)
    weight = weight if weight.is_floating_point() else weight.float()
    if weight.dim() != 1 or not bool((weight.isfinite() & (weight >= 0)).all()):
        raise ValueError("weight must be a vector of finite, non-negative class weights")
    copied: Tensor = weight.detach().clone()
    return copied
