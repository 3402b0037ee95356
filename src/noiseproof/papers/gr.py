"""Gradient rescaling: Wang et al., Emphasis Regularisation by Gradient Rescaling for Training Deep Neural
Networks Robustly (also: Derivative Manipulation)."""

from __future__ import annotations

from typing import Any

from .cells import Runs, Settings
from .table_builder import PRETRAINED, Reading, Record, cropped, make_tables, noise, photos, subject

RECIPE: dict[str, Any] = {"batch_size": 128, "lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4}
RECIPE |= {"schedule": 'step(milestones="32000,48000", by="iteration")', "iterations": 100_000}
PRINTED_SCHEDULE = {"schedule": 'every(period=5000, by="iteration")', "iterations": 20_000}
CLOTHING1M: dict[str, Any] = {"batch_size": 64, "lr": 1e-3, "momentum": 0.9, "weight_decay": 1e-3}
CLOTHING1M |= {"schedule": 'step(milestones="5")', "epochs": 10}
CLOTHING1M |= {"augment": photos(224), "weights": PRETRAINED}
MARS: dict[str, Any] = {"batch_size": 180, "lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}
MARS |= {"schedule": 'every(period=10000, gamma=0.5, by="iteration")', "iterations": 50_000}
MARS |= {"augment": photos(227)}
LOSSES = {"CCE": "ce", "MAE": "mae", "GCE": "gce(q=0.7)"}
NOISE = {"symmetric": "symmetric({rate})", "asymmetric": "sibling({rate})"}
REWEIGHTED: dict[str, dict[str, Any]] = {
    "Self-paced": {"method": "self_paced(begin=0.5, end=0.7, growth=0.02, warmup=5, decay=0.5)"},
    "MentorNet PD": {
        "method": "mentornet_pd(percentile=0.75, lambda2=1.0, burn_in=0.19, linear=0.9, decay=0.5)"
    },
    "Forgetting": {"dropout": 0.5},
}
"""Methods of Table 4 that are in the library, whose numbers the paper quotes."""


def gr(beta: float = 8.0, lam: float = 0.5) -> str:
    """The spec of the loss; the defaults are those of tables without tuning."""
    lam = lam if beta else 0.0  # with beta=0 every lambda gives all samples weight 1
    return f'gr(beta={float(beta)}, lam={float(lam)}, normalize="batch")'


def loss(record: Record) -> str:
    if not record.method.startswith("GR"):
        return LOSSES.get(record.method.rstrip("*"), "ce")
    options = {"lam" if name == "lambda" else name: value for name, value in record.hyperparameters.items()}
    return gr(**{name: options[name] for name in ("beta", "lam") if name in options})


def as_printed(settings: Settings) -> Settings:
    """The schedule of the text, and weights that are not normalised."""
    loss = str(settings["loss"]).replace('normalize="batch"', 'normalize="none"')
    schedule = PRINTED_SCHEDULE if settings["schedule"] == RECIPE["schedule"] else {}
    return {**settings, **schedule, "loss": loss}


READINGS = {
    "printed": Reading(
        "A tenth of the rate every 5,000 of 20,000 iterations (the text does not say when training ends), and"
        " weights that are not normalised.",
        as_printed,
    )
}


def settings(record: Record) -> dict[str, Any]:
    """Settings of the runs of a printed number."""
    return {
        **RECIPE,
        **subject(record),
        "augment": cropped(record.dataset),
        "noise": noise(record, NOISE),
        "loss": loss(record),
        **REWEIGHTED.get(record.method, {}),
    }


def fill(record: Record) -> Runs:
    return Runs(settings(record), tuple(range(record.runs or 3)), relabel="retrain" in record.metric)


def fill_regularisers(record: Record) -> Runs:
    """Runs with weight decay and dropout only if the row has them."""
    options = record.hyperparameters
    chosen = {"weight_decay": options.get("weight_decay", 0.0), "dropout": options.get("dropout", 0.0)}
    return Runs(settings(record) | chosen, tuple(range(record.runs or 3)))


def fill_photos(record: Record) -> Runs:
    recipe = MARS if record.dataset == "MARS" else CLOTHING1M
    return Runs({**recipe, **subject(record), "loss": loss(record)})


REGULARISED = dict.fromkeys(("table8", "table9", "table10"), fill_regularisers)
TABLES = make_tables("gr", fill, {**REGULARISED, "table6": fill_photos, "table7": fill_photos}, READINGS)
