"""IMAE: Wang et al., IMAE for Noise-Robust Learning: Mean Absolute Error Does Not Treat Examples Equally and
Gradient Magnitude's Variance Matters."""

from __future__ import annotations

from typing import Any

from .cells import Runs, Settings
from .gr import LOSSES, MARS, RECIPE
from .table_builder import PRETRAINED, Reading, Record, cropped, make_tables, noise, subject

CIFAR10 = RECIPE
CIFAR100: dict[str, Any] = {"batch_size": 128, "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4}
CIFAR100 |= {"schedule": 'step(milestones="80,120")', "epochs": 150}
RECIPES = {"CIFAR-10": CIFAR10, "CIFAR-100": CIFAR100}
PHOTOS = {**MARS, "batch_size": 84, "weight_decay": 2e-5, "weights": PRETRAINED}
PHOTOS |= {"schedule": 'step(milestones="10000,15000", by="iteration")', "iterations": 30_000}
"""Recipe of Clothing1M."""
NOISE = {"symmetric": "symmetric({rate})", "asymmetric": "pair({rate})"}
CLEAN_T, NOISY_T = 0.5, 8.0
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"optimizer": "sgd", "momentum": 0.0},
    "SGD+momentum": {"optimizer": "sgd", "momentum": 0.9},
    "Nesterov": {"optimizer": "sgd(nesterov=True)", "momentum": 0.9},
    "Adam": {"optimizer": "adam(eps={delta})"},
}
"""Optimisers of Table 8; delta is the epsilon of Adam."""


def imae(record: Record) -> str:
    T = record.hyperparameters.get("T", "not stated")
    if T == "not stated":
        T = CLEAN_T if record.noise == "clean" else NOISY_T
    return f'imae(T={float(T)}, normalize="none")'


def normalized(settings: Settings) -> Settings:
    return {**settings, "loss": str(settings["loss"]).replace('normalize="none"', 'normalize="batch"')}


BATCH = "Weights are divided by their mean over the batch, as in the authors' public code."
READINGS = {"batch": Reading(BATCH, normalized)}


def settings(record: Record) -> dict[str, Any]:
    """Settings of the runs of a printed number."""
    return {
        **RECIPES[record.dataset],
        **subject(record),
        "augment": cropped(record.dataset),
        "noise": noise(record, NOISE),
        "loss": LOSSES.get(record.method) or imae(record),
    }


def fill(record: Record) -> Runs:
    seeds = (0, 1, 2) if record.seed is None and record.dataset == "CIFAR-10" else (record.seed or 123,)
    return Runs(settings(record), seeds)


def fill_optimizers(record: Record) -> Runs:
    """Table 8: the recipe of CIFAR-10 with another optimiser."""
    options = record.hyperparameters
    chosen = OPTIMIZERS[options["optimizer"]]
    named = {"optimizer": chosen["optimizer"].format(**options), "lr": options["lr"]}
    return Runs(settings(record) | chosen | named)


def fill_photos(record: Record) -> Runs:
    recipe = MARS if record.dataset == "MARS" else PHOTOS
    return Runs({**recipe, **subject(record), "loss": LOSSES.get(record.method) or imae(record)})


SPECIAL = {"table5": fill_photos, "table8": fill_optimizers, "table9": fill_photos}
TABLES = make_tables("imae", fill, SPECIAL, READINGS)
