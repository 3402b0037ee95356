"""Train a network on noisy labels and select the epoch by noisy validation labels."""

from __future__ import annotations

import copy
import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from .. import models
from ..data import LabelledData
from ..labels.networks import default_epochs
from ..models.spec import parse as parse_model
from ..models.spec import without_download
from ..train import Config, Watcher, fit
from ..train.config import AUTO
from .choose import fit as choose_and_fit
from .choose import which_epoch
from .store import Parts

ROWS = 1024
"""Rows of a batch of predictions."""
Factory = str | nn.Module | Callable[..., nn.Module]
"""The spec of a network, a network to copy, or a function that makes one, called with those of num_classes,
in_channels and image_size that are its parameters."""


class Network(NamedTuple):
    """A trained network; ``spec`` is None for a network of the user."""

    spec: str | None
    module: nn.Module
    shape: dict[str, Any]

    def predict_proba(self, inputs: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            parts = [self.module(part).softmax(1) for part in torch.split(inputs, ROWS)]
        return torch.cat(parts).numpy()

    def to_parts(self, parts: Parts) -> None:
        weights = {name: tensor.detach().cpu().numpy() for name, tensor in self.module.state_dict().items()}
        parts.put_arrays("network.safetensors", weights)
        parts.facts["network"] = {"spec": self.spec, "shape": self.shape}

    @classmethod
    def from_parts(cls, parts: Parts, model: Factory | None) -> Network:
        """Load a network; ``model`` makes it if the user passed their own network to ``fit``."""
        spec, shape = parts.facts["network"]["spec"], parts.facts["network"]["shape"]
        model = model if spec is None else without_download(str(spec))
        if model is None:
            raise ValueError(
                "it contains the weights of your own network: pass the network, load(path, model=...)"
            )
        module = make(model, shape)
        arrays = parts.arrays("network.safetensors").items()
        module.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays})
        return cls(spec, module.eval(), shape)


def is_network(spec: str) -> bool:
    """Whether the spec is that of a network, built in or of another library."""
    name = parse_model(spec)[0]
    return name in models.MODELS or ":" in name


def make(model: Factory, shape: dict[str, Any]) -> nn.Module:
    """A new network for data of this shape."""
    if isinstance(model, nn.Module):
        return copy.deepcopy(model)
    if isinstance(model, str):
        return models.get(model, **shape)
    known = inspect.signature(model).parameters.values()
    everything = any(one.kind == one.VAR_KEYWORD for one in known)
    names = [one.name for one in known if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    needed = [one.name for one in known if one.name in names and one.default is one.empty]
    if unknown := [name for name in needed if name not in shape]:
        raise TypeError(
            f"model={model!r} has the parameter {unknown[0]!r}: only {', '.join(shape)} can be passed"
        )
    made = model(**{name: value for name, value in shape.items() if everything or name in names})
    if not isinstance(made, nn.Module):
        raise TypeError(f"model={model!r} returned a {type(made).__name__}, not a torch.nn.Module")
    return made


def check_network(model: Factory, inputs: torch.Tensor, classes: int) -> None:
    """ValueError if the network does not accept the rows or does not return one number per class."""
    called = repr(model) if isinstance(model, str) else getattr(model, "__name__", type(model).__name__)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        module = make(model, shape_of(inputs, classes)).eval()
        try:
            outputs = module(inputs[:2])
        except (RuntimeError, ValueError, TypeError, LookupError) as problem:
            reason = str(problem).partition("\n")[0]
            wanted = f"model={called} does not accept rows of shape {tuple(inputs.shape[1:])}"
            raise ValueError(f"{wanted}: {reason}") from None
    if not isinstance(outputs, torch.Tensor):
        raise TypeError(f"model={called} returned a {type(outputs).__name__}: return the logits, a tensor")
    found = tuple(outputs.shape[1:])
    if found != (classes,):
        raise ValueError(
            f"model={called} returns outputs of shape {found}: it must be ({classes},) for {classes} classes"
        )


def shape_of(inputs: torch.Tensor, classes: int) -> dict[str, Any]:
    size = {"image_size": tuple(inputs.shape[2:])} if inputs.dim() == 4 else {}
    return {"num_classes": classes, "in_channels": int(inputs.shape[1]), **size}


def train_network(
    inputs: torch.Tensor,
    label: np.ndarray,
    names: list[str],
    *,
    loss: str,
    model: Factory,
    epochs: int | None,
    validation: float,
    seed: int,
    watcher: Watcher | None = None,
) -> tuple[Network, str]:
    """Train a network; a held-out share of the rows selects the epoch by its given labels.

    Also returns a description of the loss, which is selected here if it is "auto".
    """
    data = LabelledData(inputs, label, class_names=names, name="X", duplicates="ignore")
    shape = shape_of(inputs, len(names))
    spec = model if isinstance(model, str) else None
    with torch.random.fork_rng(devices=[]), tempfile.TemporaryDirectory(prefix="noiseproof-") as folder:
        torch.manual_seed(seed)
        own = None if spec else make(model, shape)
        config = Config(
            loss=loss,
            model=spec or "mlp",
            epochs=epochs or (None if loss == AUTO else default_epochs(len(label))),
            validation=validation,
            seed=seed,
            out=str(Path(folder, "run")),
        )
        train = choose_and_fit if loss == AUTO else fit
        run = train(config, data=data, model=own, watcher=watcher)
        which = which_epoch(run) if loss == AUTO else "best" if run.config.validation else "final"
        words = loss if run.choice is None else str(run.choice["words"])
        return Network(spec, run.load_model(which, model=own), shape), words
