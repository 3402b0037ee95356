"""Gradient rescaling: Wang et al., Emphasis Regularisation by Gradient Rescaling for Training Deep Neural
Networks Robustly (also: Derivative Manipulation)."""

from __future__ import annotations

from typing import Any

from .cells import Filling, Runs, Settings
from .table_builder import Reading, Record, cropped, make_tables, subject

RECIPE: dict[str, Any] = {
    "batch_size": 128,
    "lr": 0.1,
    "momentum": 0.9,
    "weight_decay": 1e-4,
    "schedule": 'step(milestones="32000,48000", by="iteration")',
    "iterations": 100_000,
}
PRINTED_SCHEDULE = {"schedule": 'every(period=5000, by="iteration")', "iterations": 20_000}
NOISE = {"clean": None, "symmetric": "symmetric({rate})", "asymmetric": "sibling({rate})"}
LOSSES = {
    "GCE": "gce(q=0.7)",
    **dict.fromkeys(("CCE", "Baseline", "L2", "Dropout", "Dropout+L2"), "ce"),
    **dict.fromkeys(("Self-paced", "MentorNet PD", "Forgetting"), "ce"),
}
"""Methods but GR itself."""
REWEIGHTED: dict[str, dict[str, Any]] = {
    "Self-paced": {"method": "self_paced(begin=0.5, end=0.7, growth=0.02, warmup=5, decay=0.5)"},
    "MentorNet PD": {
        "method": "mentornet_pd(percentile=0.75, lambda2=1.0, burn_in=0.19, linear=0.9, decay=0.5)"
    },
    "Forgetting": {"dropout": 0.5},
}
"""Methods of Table 4 that the library has and the paper did not run."""
FIXED = {"beta": 8.0, "lambda": 0.5}
"""The setting of the tables that do not tune."""


def gr(options: Any) -> str:
    """The loss of printed hyper-parameters; without beta and lambda, the fixed setting."""
    beta, lam = options.get("beta", FIXED["beta"]), options.get("lambda", FIXED["lambda"])
    if options.get("beta") == 0:
        lam = 0.0  # any lambda is the same: all samples have weight 1
    return f'gr(beta={float(beta)}, lam={float(lam)}, normalize="batch")'


def as_printed(settings: Settings) -> Settings:
    """The schedule of the text, and weights as they are."""
    loss = str(settings["loss"]).replace('normalize="batch"', 'normalize="none"')
    return {**settings, **PRINTED_SCHEDULE, "loss": loss}


READINGS = {
    "printed": Reading(
        "A tenth of the rate every 5,000 of 20,000 iterations (the text does not say when training ends), and"
        " weights that are not normalised.",
        as_printed,
    )
}


def settings(record: Record) -> dict[str, Any]:
    """The runs behind a number."""
    noise = NOISE[record.noise]
    return {
        **RECIPE,
        **subject(record),
        "augment": cropped(record),
        "noise": noise and noise.format(rate=record.rate),
        "loss": gr(record.hyperparameters) if record.method.startswith("GR") else LOSSES[record.method],
        **REWEIGHTED.get(record.method, {}),
    }


def fill(record: Record) -> Filling:
    return Runs(settings(record), tuple(range(record.runs or 3)), relabel="retrain" in record.metric)


def fill_regularisers(record: Record) -> Filling:
    """Weight decay and dropout only where the row has them."""
    options = record.hyperparameters
    chosen = {"weight_decay": options.get("weight_decay", 0.0), "dropout": options.get("dropout", 0.0)}
    return Runs(settings(record) | chosen, tuple(range(record.runs or 3)))


REGULARISED = dict.fromkeys(("table8", "table9", "table10"), fill_regularisers)
TABLES = make_tables("gr", fill, REGULARISED, READINGS)
