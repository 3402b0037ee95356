"""SL: Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019."""

from __future__ import annotations

from typing import Any

from .cells import Runs, Settings
from .gr import CLOTHING1M
from .table_builder import Reading, Record, make_tables, noise, shifted, subject

COMMON: dict[str, Any] = {"batch_size": 128, "momentum": 0.9, "exact_noise": True}
RECIPES: dict[str, dict[str, Any]] = {
    "MNIST": {"epochs": 50, "lr": 0.1, "weight_decay": 5e-3, "schedule": 'step(milestones="10,30")'},
    "CIFAR-10": {"epochs": 120, "lr": 0.01, "weight_decay": 1e-4, "schedule": 'step(milestones="40,80")'},
    "CIFAR-100": {"epochs": 150, "lr": 0.1, "weight_decay": 5e-3, "schedule": 'step(milestones="80,120")'},
}
ASYMMETRIC = {
    "MNIST": 'asymmetric({rate}, map="mnist")',
    "CIFAR-10": 'asymmetric({rate}, map="cifar10")',
    "CIFAR-100": 'pair({rate}, grouping="index_block")',
}
LOSSES = {"CE": "ce", "LSR": "gls(alpha=0.1)", "GCE": "gce(q=0.7)", "Forward": "ce"}
"""Forward has this loss with clean labels, where its matrix is the identity."""
D2L = {"MNIST": (5, 5), "CIFAR-10": (10, 5), "CIFAR-100": (20, 5), "Clothing1M": (1, 3)}
"""Number of epochs before D2L searches for its turning point, and its window, as in its public code."""
USUAL = {"alpha": 0.1, "beta": 1.0, "A": -4.0}
"""Parameters of SL that a table does not state: those of CIFAR-10."""
CODE = {
    "mnist": {"weight_decay": 0.0, "decay": 1e-4},
    "cifar10": {"weight_decay": 0.0, "decay": 1e-4},
    "cifar100": {"weight_decay": 0.02, "decay": 5e-3},
}
"""By dataset; a penalty of 0.01 in Keras is a weight decay of 0.02."""
SHIFT = 'width=0.2, height=0.2, fill="edge"'


def learner(record: Record, added: str | None) -> dict[str, str]:
    """The loss or the method of a row; Forward gets the matrix of the noise ``added``."""
    options = record.hyperparameters
    if record.method.startswith("Forward") and added:
        reverse = f", rce={options['beta']}, A={float(options['A'])}" if options else ""
        return {"method": f"forward(transition={added!r}{reverse})"}
    if record.method == "D2L":
        start, window = D2L[record.dataset]
        return {"method": f"d2l(k=20, subset=1280, start={start}, window={window})"}
    if record.method == "Bootstrap":
        return {"method": "bootstrap_hard(beta=0.8)"}
    if record.method == "LSR+SL":
        beta = 5.0 if record.noise == "asymmetric" else 1.0
        return {"method": f"gls_sl(smoothing=0.1, alpha=0.1, beta={beta}, A=-4.0)"}
    if record.method == "SL":
        alpha, beta, A = (float(options.get(name, usual)) for name, usual in USUAL.items())
        return {"loss": f"sl(alpha={alpha}, beta={beta}, A={A})"}
    return {"loss": LOSSES[record.method]}


def fill(record: Record) -> Runs:
    added = noise(record, {"symmetric": "symmetric({rate})", "asymmetric": ASYMMETRIC[record.dataset]})
    settings = {
        **COMMON,
        **RECIPES[record.dataset],
        **subject(record),
        "augment": shifted(record.dataset, SHIFT),
        "noise": added,
        "exact_noise": added is not None,
        **learner(record, added),
    }
    return Runs(settings, tuple(range(record.runs or 5)))


def as_in_code(settings: Settings) -> Settings:
    """The rate decays in every iteration, and weights do not, except those of ResNets."""
    if settings["data"] not in CODE:
        return settings
    decay = CODE[str(settings["data"])]
    schedule = str(settings["schedule"]).replace(")", f", decay={decay['decay']})")
    return {**settings, "weight_decay": decay["weight_decay"], "schedule": schedule}


READINGS = {
    "code": Reading(
        "As in the public code, the number that the text calls weight decay divides the learning rate by"
        " 1 + 1e-4 t in iteration t (1 + 5e-3 t on CIFAR-100). Only ResNets have a penalty on all weights;"
        " that on one layer of the 8-layer network is left out.",
        as_in_code,
    )
}


def fill_clothing1m(record: Record) -> Runs:
    middle = "center_crop(size=224) | normalize(imagenet)"
    return Runs({**CLOTHING1M, **subject(record), "augment": middle, **learner(record, "clothing1m")})


TABLES = make_tables("sl", fill, {"table3": fill_clothing1m}, READINGS)
