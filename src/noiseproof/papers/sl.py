"""SL: Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019."""

from __future__ import annotations

from typing import Any

from .cells import Runs
from .table_builder import Record, make_tables, noise, shifted, subject

COMMON: dict[str, Any] = {"batch_size": 128, "momentum": 0.9, "exact_noise": True}
RECIPES: dict[str, dict[str, Any]] = {
    "MNIST": {
        "epochs": 50,
        "lr": 0.1,
        "weight_decay": 5e-3,
        "schedule": 'step(milestones="10,30")',
    },
    "CIFAR-10": {
        "epochs": 120,
        "lr": 0.01,
        "weight_decay": 1e-4,
        "schedule": 'step(milestones="40,80")',
    },
    "CIFAR-100": {
        "epochs": 150,
        "lr": 0.1,
        "weight_decay": 5e-3,
        "schedule": 'step(milestones="80,120")',
    },
}
ASYMMETRIC = {
    "MNIST": 'asymmetric({rate}, map="mnist")',
    "CIFAR-10": 'asymmetric({rate}, map="cifar10")',
    "CIFAR-100": 'pair({rate}, grouping="index_block")',
}
LOSSES = {"CE": "ce", "LSR": "gls(alpha=0.1)", "GCE": "gce(q=0.7)", "Forward": "ce"}
"""Forward stands here for clean labels, where its matrix is the identity."""
D2L_STARTS = {"MNIST": 5, "CIFAR-10": 10, "CIFAR-100": 20}
"""Epochs before D2L looks for its turning point, in its public code."""
SHIFT = 'width=0.2, height=0.2, fill="edge"'


def learner(record: Record, spoiled: str | None) -> dict[str, str]:
    """Loss, or method, of a row."""
    options = record.hyperparameters
    if record.method.startswith("Forward") and spoiled:
        reverse = f", rce={options['beta']}, A={float(options['A'])}" if options else ""
        return {"method": f"forward(transition={spoiled!r}{reverse})"}
    if record.method == "D2L":
        return {"method": f"d2l(k=20, subset=1280, start={D2L_STARTS[record.dataset]}, window=5)"}
    if record.method == "Bootstrap":
        return {"method": "bootstrap_hard(beta=0.8)"}
    if record.method == "LSR+SL":
        beta = 5.0 if record.noise == "asymmetric" else 1.0
        return {"method": f"gls_sl(smoothing=0.1, alpha=0.1, beta={beta}, A=-4.0)"}
    if record.method == "SL":
        alpha, beta, A = (float(options[name]) for name in ("alpha", "beta", "A"))
        return {"loss": f"sl(alpha={alpha}, beta={beta}, A={A})"}
    return {"loss": LOSSES[record.method]}


def fill(record: Record) -> Runs:
    spoiled = noise(record, {"symmetric": "symmetric({rate})", "asymmetric": ASYMMETRIC[record.dataset]})
    settings = {
        **COMMON,
        **RECIPES[record.dataset],
        **subject(record),
        "augment": shifted(record.dataset, SHIFT),
        "noise": spoiled,
        "exact_noise": spoiled is not None,
        **learner(record, spoiled),
    }
    return Runs(settings, tuple(range(record.runs or 5)))


TABLES = make_tables("sl", fill)
