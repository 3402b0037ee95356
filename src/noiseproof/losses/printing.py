"""A loss prints as the spec that makes it again."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from .base import Loss


@cache
def hyperparameters(kind: type[Loss]) -> dict[str, object]:
    """Names and defaults of a class's hyper-parameters, in order; those of reduction are not among them.

    >>> from noiseproof import losses
    >>> hyperparameters(losses.LOSSES["gce"])
    {'q': 0.7}
    """
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    plain = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {p.name: p.default for p in parameters if p.kind in plain and p.name != "inner"}


def is_of_library(kind: type) -> bool:
    """False for what a user wrote."""
    return kind.__module__.partition(".")[0] == "noiseproof"


def give_name(kind: type[Loss]) -> None:
    """A loss of yours that says no name has that of its class; one made from a named loss has that name."""
    if "name" in kind.__dict__:
        kind.has_class_name = False
    elif not is_of_library(kind) and (kind.has_class_name or not hasattr(kind, "name")):
        kind.name, kind.has_class_name = kind.__name__.lower(), True


def spec_of(loss: Loss) -> str:
    """``name(inner, parameter=value, ...)``; a None that is the default is left out."""
    arguments = [str(part) for part in loss.inner]
    for parameter, default in hyperparameters(type(loss)).items():  # type: ignore[arg-type]
        value = getattr(loss, parameter)
        if not (value is None and default is None):
            arguments.append(f"{parameter}={literal(value)}")
    return f"{loss.name}({', '.join(arguments)})" if arguments else loss.name


def literal(value: object) -> str:
    """A value as the spec grammar writes it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Tensor):
        return f"<tensor of {value.numel()}>"
    return repr(value)
