"""Curriculum: Ou et al., A Curriculum View of Robust Loss Functions."""

from __future__ import annotations

from typing import Any

from .cells import BEST, Runs, Settings
from .table_builder import DATA, NETWORKS, Reading, Record, make_tables, noise, photos, shifted, subject

COMMON: dict[str, Any] = {
    "batch_size": 128,
    "momentum": 0.9,
    "schedule": 'cosine(by="iteration")',
    "clip": 5.0,
}
RECIPES: dict[str, dict[str, Any]] = {
    "CIFAR-10": {"epochs": 120, "lr": 0.01, "weight_decay": 1e-4},
    "CIFAR-100": {"epochs": 200, "lr": 0.1, "weight_decay": 1e-5},
}
WEBVISION: dict[str, Any] = {"epochs": 250, "lr": 0.2, "weight_decay": 3e-5}
WEBVISION |= {"augment": photos(224, "jitter(hue=0.2) | "), "model": NETWORKS["ResNet-50"]}
ASYMMETRIC = {"CIFAR-10": 'asymmetric({rate}, map="cifar10")', "CIFAR-100": "cycle({rate})"}
INITIAL_MARGIN = 5.097
"""|E[margin]| as stated in the paper for 100 classes; with K - 1 in place of K its formula gives 5.086."""
LOSSES = {
    "CE": "ce",
    "MAE": "mae",
    "SCE": "sce(q={q})",
    "GCE": "gce(q={q})",
    "AUL": "aul(a={a}, q={q})",
    "AGCE": "agce(a={a}, q={q})",
    "AUL†": "aul(a={a}, q={q})",
    "AGCE†": "agce(a={a}, q={q})",
    "MAE shift": "shift(mae, tau={tau}, {start})",
    "MAE scale": "scale(mae, tau={tau}, {start})",
    "AGCE shift": "shift(agce(a={a}, q={q}), tau={tau}, {start})",
    "AGCE scale": "scale(agce(a={a}, q={q}), tau={tau}, {start})",
}
"""Losses of the margin, which are scaled in the text to a largest weight of 1."""
OTHERS = {"NCE": "nce", "NCE+MAE": "0.7*nce + 0.15*mae"}
"""Losses of more than the margin. The weight of MAE is q = 0.3; MAE in the paper is half of ours."""


def loss(record: Record, start: str = f"initial_margin={INITIAL_MARGIN}") -> str:
    """The loss of a row, with MAE as 1 - p; ``start`` is the argument that sets the initial margin."""
    if record.method in OTHERS:
        return OTHERS[record.method]
    found = LOSSES[record.method].format(**record.hyperparameters, start=start)
    return f"0.5*{found}" if "mae" in found else found


def settings(record: Record) -> dict[str, Any]:
    """Settings of the runs of a printed number."""
    return {
        **COMMON,
        **RECIPES[record.dataset],
        **subject(record),
        "augment": shifted(record.dataset),
        "noise": noise(record, {"symmetric": "symmetric({rate})", "asymmetric": ASYMMETRIC[record.dataset]}),
        "loss": loss(record),
    }


def fill(record: Record) -> Runs:
    return Runs(settings(record), tuple(range(record.runs or 3)))


def fill_with_high_rate(record: Record) -> Runs:
    """Table 2 uses the learning rate 0.1 on both datasets."""
    return Runs(settings(record) | {"lr": 0.1}, tuple(range(record.runs or 3)))


def fill_webvision(record: Record) -> Runs:
    """Table 4: K classes, tested on images of ImageNet."""
    classes = record.dataset.removeprefix("WebVision (k=").rstrip(")")
    data = f"webvision(classes={classes}"
    made = {**COMMON, **WEBVISION, "loss": loss(record, f"num_classes={classes}")}
    return Runs({**made, "data": f"{data})", "test": f"{data}, imagenet=True)"}, (0,))


def fill_best_of_runs(record: Record) -> Runs:
    """Table 5: numbers of the best of five runs; differences are to the best of five with clean labels."""
    clean = settings(record) | {"noise": None, "data": DATA[record.dataset]}
    baseline = clean if record.metric.startswith("diff") else None
    return Runs(settings(record), tuple(range(record.best_of or 5)), pick=BEST, baseline=baseline)


def with_unit_maximum(settings: Settings) -> Settings:
    """Losses of the margin scaled to a largest emphasis of 1, without clipping the gradient."""
    loss, kept = str(settings["loss"]), {name: one for name, one in settings.items() if name != "clip"}
    return {**kept, "loss": loss if loss in OTHERS.values() else f"unit_max({loss.removeprefix('0.5*')})"}


READINGS = {
    "unit": Reading(
        "Losses of the margin are divided by their largest emphasis (unit_max), as the text says, and the"
        " gradient is not clipped.",
        with_unit_maximum,
    )
}
SPECIAL = {"table2": fill_with_high_rate, "table4": fill_webvision, "table5": fill_best_of_runs}
TABLES = make_tables("curriculum", fill, SPECIAL, READINGS)
