"""Networks of timm and torchvision by name, if these packages are installed.

``timm:convnext_tiny`` or ``torchvision:resnet18``; options in brackets go to their constructors. The
packages are imported only when such a name is used.
"""

import difflib
import importlib
from collections.abc import Callable
from typing import Any

from torch import nn
from typing_extensions import Unpack

from ..grammar import Literal
from .task import Task, count, dropout, in_channels


def timm(name: str, options: dict[str, Literal], **task: Unpack[Task]) -> nn.Module:
    """``timm.create_model``, without pretrained weights unless the option ``pretrained`` is set."""
    package = _load("timm", name)
    _check_name("timm", name, package.list_models())
    model: nn.Module = package.create_model(
        name,
        num_classes=count("num_classes", task["num_classes"]),
        in_chans=in_channels(task),
        drop_rate=dropout(task),
        **options,
    )
    return model


def torchvision(name: str, options: dict[str, Literal], **task: Unpack[Task]) -> nn.Module:
    """``torchvision.models.get_model``, untrained."""
    package = _load("torchvision.models", name)
    _check_name("torchvision", name, package.list_models())
    if in_channels(task) != 3:
        raise ValueError(
            f"torchvision:{name} reads 3 channels, got in_channels={task['in_channels']}: use a network of"
            " this library or a timm: name"
        )
    arguments: dict[str, object] = dict(options)
    if dropout(task):
        arguments["dropout"] = dropout(task)
    try:
        model: nn.Module = package.get_model(name, num_classes=task["num_classes"], **arguments)
    except TypeError as problem:
        raise ValueError(f"torchvision:{name} does not take {arguments}: {problem}") from problem
    return model


PACKAGES: dict[str, Callable[..., nn.Module]] = {"timm": timm, "torchvision": torchvision}


def _load(package: str, name: str) -> Any:
    """The package; ImportError if it is missing or was built for another torch."""
    root = package.partition(".")[0]
    try:
        importlib.import_module(root)
        return importlib.import_module(package)
    except Exception as problem:
        absent = isinstance(problem, ModuleNotFoundError) and problem.name == root
        what = "is not installed" if absent else f"fails to import ({type(problem).__name__}: {problem})"
        raise ImportError(
            f"the model '{root}:{name}' needs {root}, which {what}: install a build that matches your torch"
            " with pip install 'noiseproof[vision]', or use a network of this library"
        ) from problem


def _check_name(package: str, name: str, known: list[str]) -> None:
    """ValueError for unknown names; tags (``resnet50.a1_in1k``) and addresses (``hf-hub:...``) are valid."""
    if name.partition(".")[0] in known or ":" in name:
        return
    near = difflib.get_close_matches(name, known, 3, 0.5)
    hint = f", did you mean {', '.join(near)}?" if near else ""
    raise ValueError(f"{package} has no model {name!r}{hint} (its list_models() shows all {len(known)})")
