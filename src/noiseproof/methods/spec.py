"""Parse method specs such as ``elr(beta=0.7, lam=3.0)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from ..grammar import call
from ..losses import Loss
from .base import Method


def parse(text: str, known: Mapping[str, Callable[..., Method]], loss: Loss) -> Method:
    """The method of a spec; a method with a parameter ``loss`` gets the loss of the run."""
    parameters = {name: list(inspect.signature(factory).parameters) for name, factory in known.items()}
    allowed = {name: [word for word in words if word != "loss"] for name, words in parameters.items()}
    name, found = call(text, "method", allowed)
    if "loss" in parameters[name]:
        return known[name](**found, loss=loss)
    if str(loss) != "ce":
        raise ValueError(f"{name} has its own loss: leave out loss={str(loss)!r}")
    return known[name](**found)


def switch(method: str, option: str, value: object) -> bool:
    """``value``; TypeError unless it is True or False.

    >>> switch("joint", "hard", 1)
    Traceback (most recent call last):
    TypeError: joint: hard must be True or False, got 1
    """
    if not isinstance(value, bool):
        raise TypeError(f"{method}: {option} must be True or False, got {value!r}")
    return value
