"""A method prints as the spec that makes it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..losses.printing import hyperparameters, literal

if TYPE_CHECKING:
    from .base import Method


def spec_of(method: Method) -> str:
    """``name(option=value, ...)``; a None that is the default is left out."""
    defaults = hyperparameters(type(method))  # type: ignore[arg-type]
    values = {option: getattr(method, option) for option in defaults if option != "loss"}
    shown = [f"{o}={literal(v)}" for o, v in values.items() if not (v is None and defaults[o] is None)]
    return f"{method.name}({', '.join(shown)})" if shown else method.name
