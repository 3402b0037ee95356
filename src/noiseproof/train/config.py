"""All settings of a run as plain values, checked when a config is made."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
import shlex
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import losses, methods, noise
from ..data import augmentation
from ..data.registry import IN_MEMORY, parse_source
from ..files import parse_json, read_bytes
from ..grammar import nearest
from ..losses.checks import choice
from .optimizer import get_schedule, parse_optimizer

MAX_CHARACTERS = 1 << 20
DEFAULT_STEPS, MIN_EPOCHS, MAX_EPOCHS = 3000, 100, 500
"""The default length of a run: DEFAULT_STEPS steps, but at least MIN_EPOCHS and at most MAX_EPOCHS epochs."""
AUTO = "auto"
"""The value of ``loss`` for which ``auto.choose`` chooses the loss."""
NEUTRAL = frozenset({"out", "device", "loop", "checkpoint_seconds", "record"})
"""Settings that do not change what is learned: a resumed run may change them."""
COUNTS = ("batch_size", "epochs", "iterations", "patience", "evaluate_every", "balanced_batches")
SHARES = ("momentum", "dropout", "validation", "weight_average")


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of a run: frozen, validated, convertible to JSON, with the names of command line options.

    Example:
        >>> config = Config(noise="symmetric(0.4)", loss="gce(q=0.7)", epochs=5)
        >>> Config.from_json(config.to_json()) == config
        True
        >>> Config(loss="gcee")
        Traceback (most recent call last):
        ValueError: loss: unknown loss 'gcee', did you mean 'gce'? (known: ...
    """

    data: str = "digits"
    """Source of training data, such as "cifar10" or 'folder(path="photos/{split}")'."""
    test: str | None = None
    """Source of test data; None takes the test split of ``data``, "none" trains without test data."""
    noise: str | None = None
    """Noise added to the labels, such as "symmetric(0.4)"; None leaves them as they are."""
    noise_seed: int | None = None
    """Seed of the noise; None takes ``seed``."""
    exact_noise: bool = False
    """Flip exactly the requested share of labels instead of each label independently."""
    model: str = "mlp"
    weights: str | None = None
    """A safetensors file with initial weights."""
    loss: str = "ce"
    """A spec such as "gce(q=0.7)"; with "auto", ``auto.fit`` chooses the loss."""
    method: str | None = None
    """A training method, such as "elr(beta=0.7)"; None trains with the loss alone."""
    epochs: int | None = None
    """Passes over the data. If neither this nor ``iterations`` is given: 100, and for small data as many as
    give 3,000 steps, at most 500."""
    iterations: int | None = None
    """Number of steps, instead of ``epochs``."""
    batch_size: int = 128
    balanced_batches: int | None = None
    """Number of batches per epoch, with equally many samples of every class (all samples of a class that has
    too few). Each epoch draws other samples. None uses all samples in every epoch."""
    optimizer: str = "sgd"
    """Such as "sgd", "sgd(nesterov=True)", "adam" or "adamw(beta2=0.99)"."""
    lr: float = 0.01
    momentum: float = 0.9
    """Momentum of sgd."""
    weight_decay: float = 0.0
    schedule: str = "cosine"
    """Such as "cosine", "step(milestones='40,80')", "warm_restarts(period=10)" or "constant"."""
    clip: float | None = None
    """Largest norm of the gradient with respect to all weights."""
    augment: str | None = None
    """Such as "crop(padding=4) | flip | normalize('cifar10')"; only fixed steps apply to test images."""
    precision: str = "fp32"
    """"fp32", or "bf16" for autocast of the network; the loss is always computed in fp32."""
    dropout: float = 0.0
    mixup: float | None = None
    """Train on weighted means of pairs of inputs, with weights from Beta(mixup, mixup). 0: none; None: the
    default of the method (1 for elr_plus, 4 for divide_mix, otherwise 0). The record contains the mixed
    inputs, each with the label of the input with the larger weight."""
    weight_average: float | None = None
    """Decay of a running mean of the weights, which is then evaluated and saved; 0 turns this off, None uses
    the default of the method (0.997 for elr_plus, otherwise 0)."""
    validation: float = 0.0
    """Share of the training data held out to select the best epoch."""
    validation_data: str | None = None
    """Source of validation data instead of that share: its validation split, or all of it."""
    validation_labels: str = "given"
    """Validate on the "given" (noisy) labels or on the "clean" ones."""
    patience: int | None = None
    """Stop after this many epochs without a better validation accuracy."""
    evaluate_every: int = 1
    """Epochs between evaluations on test and validation data; the last epoch is always evaluated."""
    record: bool = True
    """Record margin and prediction of every sample in every epoch."""
    seed: int = 0
    device: str = "auto"
    """"auto" takes a GPU if there is one."""
    loop: str = "auto"
    """"plain", "graph" (steps captured once as CUDA graphs and replayed), or "auto": graphs if possible."""
    checkpoint_seconds: float = 30.0
    """Seconds between checkpoints; 0 writes one after every step."""
    out: str | None = None
    """Folder of the run; None makes one under runs/, named after data, noise, loss and seed."""

    def __post_init__(self) -> None:
        for name, value in self.to_dict().items():
            if isinstance(value, (Path, np.generic)):
                object.__setattr__(self, name, str(value) if isinstance(value, Path) else value.item())
        object.__setattr__(self, "_is_default_length", self.epochs is None and self.iterations is None)
        if self.is_default_length:
            object.__setattr__(self, "epochs", MIN_EPOCHS)
        check_config(self)

    def replace(self, **changes: Any) -> Config:
        """A copy with changed settings; setting ``epochs`` resets ``iterations`` and vice versa."""
        for one, other in (("epochs", "iterations"), ("iterations", "epochs")):
            if changes.get(one) is not None:
                changes.setdefault(other, None)
        if self.is_default_length:
            changes.setdefault("epochs", None)
        return dataclasses.replace(self, **changes)

    @property
    def is_default_length(self) -> bool:
        """Whether neither epochs nor iterations were given."""
        return bool(vars(self)["_is_default_length"])

    def with_enough_steps(self, batches: int) -> Config:
        """The config with the default number of epochs for this number of batches, unless they are given.

        Example:
            >>> [Config().with_enough_steps(batches).epochs for batches in (391, 11, 2)]
            [100, 273, 500]
            >>> Config(epochs=100).with_enough_steps(2).epochs
            100
        """
        if not self.is_default_length:
            return self
        return self.replace(epochs=min(max(-(-DEFAULT_STEPS // batches), MIN_EPOCHS), MAX_EPOCHS))

    def to_dict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def to_json(self) -> str:
        return (
            json.dumps(self.to_dict() | ({"epochs": None} if self.is_default_length else {}), indent=2) + "\n"
        )

    @classmethod
    def from_json(cls, text: str) -> Config:
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"a config can have at most {MAX_CHARACTERS} characters, got {len(text)}")
        try:
            content = parse_json(text)
        except ValueError as problem:
            raise ValueError(f"a config must be JSON: {problem}") from None
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: object) -> Config:
        if not isinstance(content, dict):
            raise ValueError(f"a config must be a JSON object, got {type(content).__name__}")
        known = [field.name for field in dataclasses.fields(cls)]
        for name in content:
            if name not in known:
                raise ValueError(f"a config has no setting {name!r}{nearest(str(name), known)}")
        return cls(**content)

    @classmethod
    def load(cls, path: str | Path) -> Config:
        return cls.from_json(read_bytes(path, MAX_CHARACTERS).decode("utf-8"))

    def differences(self, other: Config) -> list[str]:
        """Settings that change what is learned and differ, as ``name: value here -> value in other``."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [
            f"{name}: {mine[name]!r} -> {theirs[name]!r}"
            for name in mine
            if name not in NEUTRAL
            and mine[name] != theirs[name]
            and not (name == "epochs" and other.is_default_length)
        ]

    def digest(self, without: Container[str] = NEUTRAL) -> str:
        """Short hash of the settings, by default of those that change what is learned."""
        settings = {name: value for name, value in self.to_dict().items() if name not in without}
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "str": (str, "a string"),
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
}
"""Annotation of a setting -> its types and their name in error messages."""
RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    **{name: (f"1 <= {name} < 2**62", lambda v: 1 <= v < 1 << 62) for name in COUNTS},
    **{name: (f"0 <= {name} < 2**62", lambda v: 0 <= v < 1 << 62) for name in ("seed", "noise_seed")},
    **{name: (f"0 <= {name} < 1", lambda v: 0 <= v < 1) for name in SHARES},
    **{name: (f"{name} >= 0", lambda v: v >= 0) for name in ("weight_decay", "checkpoint_seconds", "mixup")},
    **{name: (f"{name} > 0", lambda v: v > 0) for name in ("lr", "clip")},
}
CHOICES = {
    "precision": ("fp32", "bf16"),
    "loop": ("auto", "plain", "graph"),
    "validation_labels": ("given", "clean"),
}
SPECS: dict[str, Callable[[Any], object]] = {
    "loss": losses.get,
    "noise": noise.get,
    "method": methods.get,
    "optimizer": parse_optimizer,
    "schedule": get_schedule,
    "augment": augmentation,
}


def check_config(config: Config) -> None:
    """Raise an error that names the first invalid setting."""
    for field in dataclasses.fields(config):
        _check_type(field.name, str(field.type), getattr(config, field.name))
    if config.epochs is not None and config.iterations is not None:
        raise ValueError(
            f"epochs={config.epochs} and iterations={config.iterations} exclude each other: give one of them"
        )
    for name, (rule, holds) in RANGES.items():
        value = getattr(config, name)
        if value is not None and not (holds(value) and math.isfinite(value)):
            raise ValueError(f"{name}={value!r} is out of range, it must satisfy {rule}")
    for name, known in CHOICES.items():
        choice("config", name, getattr(config, name), known)
    if config.patience is not None and not config.validation and config.validation_data is None:
        raise ValueError("patience needs validation data: set, for example, validation=0.1")
    if config.validation and config.validation_data is not None:
        raise ValueError(
            f"validation={config.validation} and validation_data exclude each other: give one of them"
        )
    if config.out is not None and not config.out.strip():
        raise ValueError(f"out={config.out!r} is not a folder: give one such as runs/first, or leave it out")
    _check_kinds(config)
    _check_specs(config)


def _check_type(name: str, annotation: str, value: object) -> None:
    kind, _, optional = annotation.partition(" | ")
    types, words = KINDS[kind]
    if value is None and optional:
        return
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        raise TypeError(f"{name} must be {words}{' or None' * bool(optional)}, got {value!r}")


def _check_kinds(config: Config) -> None:
    """Raise an error if a method is given as the loss, or a loss as the method."""
    known: dict[str, Container[str]] = {"loss": losses.LOSSES, "method": methods.METHODS}
    for mine, other in (("loss", "method"), ("method", "loss")):
        spec = getattr(config, mine) or ""
        name = spec.partition("(")[0].strip()
        if name in known[other] and name not in known[mine]:
            raise ValueError(
                f"{mine}: {name!r} is a {other}, not a {mine}: give it as --{other} {shlex.quote(spec)} and"
                f" not as {mine}"
            )


def _check_specs(config: Config) -> None:
    for name in SPECS:
        value = getattr(config, name)
        if value is None:
            continue
        try:
            _check_spec(name, value)
        except (ValueError, TypeError) as problem:
            raise type(problem)(f"{name}: {problem}") from None


@lru_cache(maxsize=4096)
def _check_spec(name: str, spec: str) -> None:
    """Parse a spec and cache the result, since tables create thousands of configs with few specs."""
    if (name, spec) == ("loss", AUTO):
        return
    SPECS[name](spec)


def run_folder(config: Config) -> Path:
    """``out``, or a folder under runs/ named after the run, ending in a hash of its settings.

    Example:
        >>> run_folder(Config(noise="symmetric(0.4)", loss="gce(q=0.7)", seed=3)).as_posix()
        'runs/digits-symmetric-0.4-gce-q-0.7-seed3-...'
    """
    if config.out is not None:
        return Path(config.out).expanduser()
    source, options = parse_source(config.data)
    data = str(options["name"]) if source == IN_MEMORY and "name" in options else config.data
    parts = [data, config.noise, config.method or config.loss]
    words = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") for part in parts if part]
    return Path("runs", f"{'-'.join(words)[:100]}-seed{config.seed}-{config.digest()}")
