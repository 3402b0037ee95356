"""Conversion of a spec to the call that builds the network."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import torch
from torch import nn

from ..grammar import Literal, unknown, written
from .classifier import Classifier
from .external import PACKAGES
from .spec import parse
from .task import TASK, Task

Factory: TypeAlias = Callable[..., nn.Module]


def network_factory(spec: str, task: Task, registry: Mapping[str, Factory]) -> Callable[[], nn.Module]:
    """The call that builds the network; names and options are checked here."""
    name, options = parse(spec)
    misplaced = [option for option in (*TASK, "weights", "seed") if option in options and option != "dropout"]
    if misplaced:
        raise ValueError(f"{misplaced[0]} in {spec!r} must be passed to models.get, not written in the spec")
    if "dropout" in options:
        given = options.pop("dropout")
        if task["dropout"] not in (0.0, given):
            raise ValueError(f"dropout={task['dropout']} contradicts {spec!r}")
        task["dropout"] = given  # type: ignore[typeddict-item]
    if "head" in options and name in registry and "head" not in inspect.signature(registry[name]).parameters:
        factor = options.pop("head")
        return partial(_with_scaled_head, network_factory(written(name, options), task, registry), factor)
    package, _, rest = name.partition(":")
    if rest and package in PACKAGES:
        return partial(PACKAGES[package], rest, options, **task)
    if name not in registry:
        raise ValueError(unknown("model", name, registry))
    return _from_factory(name, registry[name], options, task)


def _with_scaled_head(make: Callable[[], nn.Module], factor: Literal) -> nn.Module:
    """The network with the initial weights of its last layer multiplied by ``factor``."""
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 <= factor < float("inf"):
        raise ValueError(f"head={factor!r} is out of range, it must be a number and satisfy head >= 0")
    model = make()
    if not isinstance(model, Classifier):
        raise ValueError(f"head={factor}: {type(model).__name__} is not a network of this library")
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter.mul_(factor)
    return model


def _from_factory(
    name: str, factory: Factory, options: dict[str, Literal], task: Task
) -> Callable[[], nn.Module]:
    parameters = inspect.signature(factory).parameters
    known = [p.name for p in parameters.values() if p.kind != p.VAR_KEYWORD and p.name not in TASK]
    for option in options:
        if option not in known:
            raise ValueError(unknown(f"option of {name}", option, known))
    takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
    arguments = {key: value for key, value in task.items() if takes_all or key in parameters}
    if "num_classes" not in arguments:
        raise TypeError(f"the factory of {name!r} must have a parameter num_classes")
    if task["dropout"] and "dropout" not in arguments:
        raise ValueError(f"dropout={task['dropout']}: the factory of {name!r} has no parameter dropout")
    return partial(factory, **arguments, **options)
