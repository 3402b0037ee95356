"""All networks by name, in a plain dict."""

import warnings
from collections.abc import Callable
from pathlib import Path

from torch import nn

from ..grammar import check_new
from .classifier import Classifier
from .factory import network_factory
from .googlenet import googlenet
from .inception_v2 import googlenet_v2, inception_resnet_v2
from .mlp import mlp
from .resnet import resnet18, resnet34, resnet50
from .seeding import build
from .size import check_size
from .small_cnn import cnn4, cnn8
from .spec import parse
from .task import ImageSize, Task, count
from .thin_resnet import resnet20, resnet32, resnet44, resnet56
from .vgg import vgg19_bn
from .weights import load_weights

MODELS: dict[str, Callable[..., nn.Module]] = {
    "mlp": mlp,
    "cnn4": cnn4,
    "cnn8": cnn8,
    "resnet20": resnet20,
    "resnet32": resnet32,
    "resnet44": resnet44,
    "resnet56": resnet56,
    "resnet18": resnet18,
    "resnet34": resnet34,
    "resnet50": resnet50,
    "vgg19_bn": vgg19_bn,
    "googlenet": googlenet,
    "googlenet_v2": googlenet_v2,
    "inception_resnet_v2": inception_resnet_v2,
}
BUILT_IN = frozenset(MODELS)


def get(
    name_or_spec: str | nn.Module,
    *,
    num_classes: int,
    in_channels: int = 3,
    image_size: ImageSize = None,
    dropout: float = 0.0,
    weights: str | Path | None = None,
    seed: int | None = None,
) -> nn.Module:
    """A network by name, such as ``resnet34`` or ``resnet34(stem="imagenet")``; a module is returned as is.

    Networks of this library have the option ``head``, a factor of the initial weights of the last layer: with
    ``cnn8(head=0)`` training begins at the same margin for every sample.

    Args:
        image_size: needed by networks that flatten images (mlp, cnn4, cnn8) unless it is their default.
        dropout: share of the features dropped before the last linear layer; also an option of the spec.
        weights: a safetensors file; tensors that do not fit are listed in a warning (see load_weights).
        seed: determines the initial weights; with None they are drawn from torch's global generator.

    Example:
        >>> get("resnet44(dropout=0.2)", num_classes=100, seed=0).head
        Linear(in_features=64, out_features=100, bias=True)
        >>> get("resnet43", num_classes=10)
        Traceback (most recent call last):
        ValueError: unknown model 'resnet43', did you mean 'resnet44'? (known: mlp, cnn4, ...
    """
    if isinstance(name_or_spec, nn.Module):
        model = _checked_module(name_or_spec, num_classes, dropout)
    elif isinstance(name_or_spec, str):
        task = Task(num_classes=num_classes, in_channels=in_channels, image_size=image_size, dropout=dropout)
        make = network_factory(name_or_spec, task, MODELS)
        if parse(name_or_spec)[0] in BUILT_IN:
            check_size(make, name_or_spec)
        model = build(make, seed)
    else:
        raise TypeError(f"a model must be a spec string or an nn.Module, got {type(name_or_spec).__name__}")
    if weights is not None:
        report = load_weights(model, weights)
        if not report.complete:
            warnings.warn(str(report), stacklevel=2)
    return model


def register(name: str, factory: Callable[..., nn.Module]) -> None:
    """Make ``factory`` available under ``name`` in spec strings.

    It is called with num_classes and, if it has parameters of these names, with in_channels, image_size and
    dropout; its other parameters are options of the spec. Names of the library's networks raise an error;
    registering another name again replaces its factory.

    Example:
        >>> register("tiny", lambda num_classes, width=4: nn.Linear(width, num_classes))
        >>> get("tiny(width=6)", num_classes=3)
        Linear(in_features=6, out_features=3, bias=True)
        >>> del MODELS["tiny"]
    """
    check_new("model", name, factory, BUILT_IN)
    MODELS[name] = factory


def _checked_module(model: nn.Module, num_classes: int, dropout: float) -> nn.Module:
    if dropout:
        raise ValueError(f"dropout={dropout} cannot be added to an existing {type(model).__name__}")
    if isinstance(model, Classifier) and model.head.out_features != count("num_classes", num_classes):
        raise ValueError(f"the model has {model.head.out_features} classes, the task has {num_classes}")
    return model
