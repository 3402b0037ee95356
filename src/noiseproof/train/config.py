"""Everything that decides the outcome of a run, as plain values."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import parse_json, read_bytes
from ..grammar import nearest
from .checks import check_config

LONGEST = 1 << 20
NEUTRAL = frozenset({"out", "device", "loop", "checkpoint_seconds", "record"})
"""Settings that do not change what is learned: a resumed run may have others."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """A run in plain values: frozen, checked when made, JSON in and out, the same names on the command line.

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
    """Source of test data where it is not the test split of ``data``; "none" for no test."""
    noise: str | None = None
    """Noise added to the labels, such as "symmetric(0.4)"; None leaves them as they are."""
    noise_seed: int | None = None
    """None: the seed of the run."""
    exact_noise: bool = False
    """Flip exactly the share asked for, instead of each label by its own coin."""
    model: str = "mlp"
    weights: str | None = None
    """A safetensors file of weights to begin with."""
    loss: str = "ce"
    method: str | None = None
    """What is more than a loss, such as "elr(beta=0.7)"; None trains with the loss alone."""
    epochs: int | None = None
    """Passes over the data; 100 if neither this nor ``iterations`` is given."""
    iterations: int | None = None
    """Steps, instead of epochs."""
    batch_size: int = 128
    optimizer: str = "sgd"
    """"sgd", "sgd(nesterov=True)", "adam", "adamw" with their options."""
    lr: float = 0.01
    momentum: float = 0.9
    """Of sgd."""
    weight_decay: float = 0.0
    schedule: str = "cosine"
    """Such as "cosine", "step(milestones='40,80')", "warm_restarts(period=10)" or "constant"."""
    clip: float | None = None
    """Largest norm of the gradient of all weights."""
    augment: str | None = None
    """Such as "crop(padding=4) | flip | normalize('cifar10')"; test images get its fixed steps only."""
    precision: str = "fp32"
    """"fp32", or "bf16" for autocast of the network; the loss is always in fp32."""
    dropout: float = 0.0
    validation: float = 0.0
    """Share of the training data put aside to choose the best epoch."""
    validation_labels: str = "given"
    """"given" (noisy, as a user has them) or "clean"."""
    patience: int | None = None
    """Stop after so many epochs without a better validation accuracy."""
    evaluate_every: int = 1
    """Epochs between evaluations on test and validation data; the last epoch always has one."""
    record: bool = True
    """Keep margin and prediction of every sample at every epoch."""
    seed: int = 0
    device: str = "auto"
    """"auto" takes a GPU where there is one."""
    loop: str = "auto"
    """"plain", "graph" (steps captured once and replayed, on a GPU) or "auto", which takes what it can."""
    checkpoint_seconds: float = 30.0
    """Time between checkpoints; 0 writes one after every step."""
    out: str | None = None
    """Folder of the run; None makes one under runs/ named after data, noise, loss and seed."""

    def __post_init__(self) -> None:
        if self.epochs is None and self.iterations is None:
            object.__setattr__(self, "epochs", 100)
        check_config(self)

    def replace(self, **changes: Any) -> Config:
        """A copy with other values; ``epochs`` and ``iterations`` replace each other."""
        for one, other in (("epochs", "iterations"), ("iterations", "epochs")):
            if changes.get(one) is not None:
                changes.setdefault(other, None)
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Config:
        if len(text) > LONGEST:
            raise ValueError(f"a config has at most {LONGEST} characters, this one has {len(text)}")
        try:
            content = parse_json(text)
        except ValueError as problem:
            raise ValueError(f"a config is JSON: {problem}") from None
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: object) -> Config:
        if not isinstance(content, dict):
            raise ValueError(f"a config is a JSON object, got {type(content).__name__}")
        known = [field.name for field in dataclasses.fields(cls)]
        for name in content:
            if name not in known:
                raise ValueError(f"a config has no setting {name!r}{nearest(str(name), known)}")
        return cls(**content)

    @classmethod
    def load(cls, path: str | Path) -> Config:
        return cls.from_json(read_bytes(path, LONGEST).decode("utf-8"))

    def differences(self, other: Config) -> list[str]:
        """The settings that change what is learned and are not the same, as ``name: ours -> theirs``."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [
            f"{name}: {mine[name]!r} -> {theirs[name]!r}"
            for name in mine
            if name not in NEUTRAL and mine[name] != theirs[name]
        ]
