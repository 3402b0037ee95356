"""NAL: Lu et al., Noise Attention Learning: Enhancing Noise Robustness by Gradient Scaling (its appendix)."""

from __future__ import annotations

from typing import Any

from .cells import Runs
from .table_builder import Record, make_tables, photos, subject

RECIPE: dict[str, Any] = {"batch_size": 64, "lr": 0.02, "momentum": 0.9, "weight_decay": 1e-3}
RECIPE |= {"epochs": 500, "schedule": "warm_restarts(period=10, minimum=0.001)"}
CLOTHING1M = RECIPE | {"epochs": 250, "schedule": "warm_restarts(period=10, minimum=0.0001)"}
CLOTHING1M |= {"balanced_batches": 2000, "validation_data": "clothing1m", "augment": photos(224)}
METHODS: dict[str, dict[str, Any]] = {
    "SELC": {"method": "selc"},
    "ELR+": {"method": "elr_plus", "weight_average": 0.999},
    "DivideMix": {"method": "divide_mix(warmup=1, lam=0.0, penalty=True)", "mixup": 0.5},
}
"""Settings for Clothing1M in the public code of each method."""


def attention(lam: float, alpha: float = 0.9) -> dict[str, str]:
    return {"method": f"nal(lam={lam}, alpha={alpha}, start=60, period=10)"}


def fill(record: Record) -> Runs:
    """Table 2, rows from scratch."""
    options = record.hyperparameters
    learner: dict[str, Any] = {"loss": "sl(alpha=0.1, beta=1.0, A=-4.0)"}
    if record.method == "NAL":
        learner = attention(float(options["lambda"]), options["alpha"])
    elif record.method in METHODS:
        learner = METHODS[record.method]
    return Runs({**CLOTHING1M, **subject(record), **learner, "batch_size": options["batch_size"]})


TABLES = make_tables("nal", fill)
