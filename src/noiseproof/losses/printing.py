"""Printing a loss gives the spec string that creates it."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

from torch import Tensor


@cache
def hyperparameters(kind: Any) -> dict[str, object]:
    """Names and defaults of a class's hyper-parameters, in order; without reduction, ignore_index and weight.

    >>> from noiseproof import losses
    >>> hyperparameters(losses.LOSSES["gce"])
    {'q': 0.7}
    """
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    plain = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {p.name: p.default for p in parameters if p.kind in plain and p.name != "inner"}


def is_of_library(kind: type) -> bool:
    """Whether the class is part of this library."""
    return kind.__module__.partition(".")[0] == "noiseproof"


def give_name(kind: Any) -> None:
    """A user's class without a name is named after the class; a subclass of a named loss keeps that name."""
    if "name" in kind.__dict__:
        kind.has_class_name = False
    elif not is_of_library(kind) and (kind.has_class_name or not hasattr(kind, "name")):
        kind.name, kind.has_class_name = kind.__name__.lower(), True


def spec_of(loss: Any) -> str:
    """``name(inner, parameter=value, ...)``; a None that is the default is left out."""
    arguments = [str(part) for part in loss.inner]
    for parameter, default in hyperparameters(type(loss)).items():  # type: ignore[arg-type]
        value = getattr(loss, parameter)
        if not (value is None and default is None):
            arguments.append(f"{parameter}={literal(value)}")
    return f"{loss.name}({', '.join(arguments)})" if arguments else str(loss.name)


def literal(value: object) -> str:
    """A value in the grammar of specs."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Tensor):
        return f"<tensor of {value.numel()}>"
    return repr(value)
