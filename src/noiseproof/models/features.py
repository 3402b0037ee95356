"""Logits and the features below them, of any network that ends in a linear layer."""

from typing import Any

import torch
from torch import Tensor, nn

from .classifier import Classifier
from .ensemble import Ensemble, mean_logits


def forward_with_features(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """``model(x)`` and the input of its last linear layer.

    Networks of this library return both directly, also under torch.compile; features of an Ensemble are
    concatenated. In any other module a hook on the linear layers keeps the input of the one that runs last,
    so that auxiliary heads earlier in the network do not matter. If the output has several parts, the logits
    are ``.logits`` or the first part. Compiled code skips hooks, so a compiled model runs uncompiled here; to
    keep its speed compile the function instead, as in
    ``torch.compile(partial(forward_with_features, model))``.

    Shape:
        x as the model takes it; logits (N, num_classes), features (N, D)
    Example:
        >>> import torch
        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        >>> logits, features = forward_with_features(net, torch.ones(2, 4))
        >>> torch.equal(logits, net[2](features)), features.shape
        (True, torch.Size([2, 8]))
    """
    model = getattr(model, "_orig_mod", model)
    if isinstance(model, Classifier) and type(model).forward is Classifier.forward:
        features = model.features(x)
        return model.head(features), features
    if type(model) is Ensemble:
        parts = [forward_with_features(one, x) for one in model.networks]
        return mean_logits([logits for logits, _ in parts]), torch.cat([seen for _, seen in parts], 1)
    seen: list[Tensor] = []

    def keep_input(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        seen[:] = inputs[:1]

    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(keep_input) for module in linear]
    try:
        output = model(x)
    finally:
        for hook in hooks:
            hook.remove()
    if not seen:
        raise ValueError(_why_no_features(model, linear))
    return _logits(output), seen[0]


def _logits(output: Any) -> Tensor:
    found = getattr(output, "logits", output)
    found = found[0] if isinstance(found, (tuple, list)) else found
    if not isinstance(found, Tensor):
        raise TypeError(f"expected the model to return logits, got {type(found).__name__}")
    return found


def _why_no_features(model: nn.Module, linear: list[nn.Linear]) -> str:
    name = type(model).__name__
    if not linear:
        return f"{name} has no nn.Linear, so it has no features below one: end it in nn.Linear"
    return (
        f"none of the {len(linear)} nn.Linear layers of {name} was called as a module: hooks do not run"
        " inside a compiled part, so compile partial(models.forward_with_features, model) instead"
    )
