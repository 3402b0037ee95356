"""Numbers behind the figures, as rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import torch

from .evidence import Evidence
from .facts import Facts, mean_of
from .wording import NONE, count, percent, shown

MOST_CLASSES = 100
MOST_EPOCHS = 40
EPOCH_COLUMNS = {
    "loss": "loss",
    "test_accuracy": "test",
    "validation_accuracy": "validation",
    "corrupted_accuracy": "given labels",
    "intact_accuracy": "clean labels",
    "clean_subset_accuracy": "right labels",
    "noisy_subset_accuracy": "wrong labels",
    "alpha": "alpha",
    "snr": "snr",
    "lr": "learning rate",
}
EPOCH_MEANINGS = {
    "loss": "mean of what was minimised, over the samples of the epoch",
    "test_accuracy": "share of the test samples predicted as labelled",
    "validation_accuracy": "the same of the samples put aside to choose the best epoch",
    "corrupted_accuracy": "share of the training samples predicted as given, wrong labels included"
    " (corrupted in metrics.jsonl and result.json)",
    "intact_accuracy": "share of the training samples predicted as their true class (intact)",
    "clean_subset_accuracy": "share of the right labels that are predicted (clean_subset)",
    "noisy_subset_accuracy": "share of the wrong labels that are predicted: memorised (noisy_subset)",
    "alpha": "mean emphasis so far: how hard the loss pulls at a sample, from 0 to 1 for cross entropy",
    "snr": "mean emphasis on right labels divided by that on wrong ones: above 1 the right ones lead",
    "lr": "step size of the optimiser at the end of the epoch",
}
CLASS_MEANINGS = (
    ("samples", "training samples with this label"),
    ("suspects", "of these, labels suspected to be wrong"),
    ("suspected", "suspects as a share of the samples"),
    ("wrong", "share of the labels that are known to be wrong; no number where the truth is not known"),
    ("test accuracy", "share of the test samples of this class predicted right"),
)
COMPARED = {
    "final_test": "test, final",
    "best_test": "test, best",
    "fitted": "{other} fitted",
    "memorised": "{doubted} memorised",
    "recovered": "truth recovered",
    "gradient_share": "gradient on {doubted}",
    "precision": "suspects, precision",
    "recall": "suspects, recall",
}
"""Headings; what the truth makes right and wrong is only suspected, or not, where it is not known."""


@dataclass(frozen=True)
class Table:
    """A heading, column names, and rows whose first cell names them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    wordy: bool = False
    """Whether cells hold words that may run over several lines."""
    meanings: tuple[tuple[str, str], ...] = ()
    """Columns whose names do not say enough, and what they mean."""


def class_table(evidence: Evidence) -> Table:
    """Per class: samples, suspects, wrong labels and test accuracy; the most suspected first."""
    record = evidence.record
    doubt = torch.tensor(evidence.suspects["is_label_issue"].to_numpy(dtype=bool))
    total = torch.bincount(record.label, minlength=record.num_classes)
    suspected = torch.bincount(record.label[doubt], minlength=record.num_classes)
    wrong = (
        None if record.flipped is None else torch.bincount(record.label[record.flipped], minlength=len(total))
    )
    tested = _last_class_accuracy(evidence)
    rows = []
    for number in suspected.argsort(descending=True, stable=True)[:MOST_CLASSES].tolist():
        size = int(total[number])
        cells = [shown(evidence.class_name(number)), count(size), count(int(suspected[number]))]
        cells.append(percent(int(suspected[number]) / size if size else None))
        cells.append(NONE if wrong is None else percent(int(wrong[number]) / size if size else None))
        cells.append(percent(tested[number]) if number < len(tested) else NONE)
        rows.append(tuple(cells))
    note = (
        f"the {MOST_CLASSES} most suspected of {record.num_classes}"
        if record.num_classes > MOST_CLASSES
        else ""
    )
    columns = ("class as given", "samples", "suspects", "suspected", "wrong", "test accuracy")
    return Table("Classes", columns, tuple(rows), note, meanings=CLASS_MEANINGS)


def epoch_table(evidence: Evidence) -> Table:
    """The metrics of the epochs, thinned out where there are many."""
    lines = evidence.metrics
    every = max(1, -(-len(lines) // MOST_EPOCHS))
    kept = [line for place, line in enumerate(lines) if place % every == 0 or place == len(lines) - 1]
    names = [name for name in EPOCH_COLUMNS if any(line.get(name) is not None for line in lines)]
    rows = [(str(line.get("epoch")), *(_cell(name, line.get(name)) for name in names)) for line in kept]
    note = f"one in {every} of {len(lines)} epochs" if every > 1 else ""
    meanings = tuple((EPOCH_COLUMNS[name], EPOCH_MEANINGS[name]) for name in names)
    columns = ("epoch", *(EPOCH_COLUMNS[name] for name in names))
    return Table("Epochs", columns, tuple(rows), note, meanings=meanings)


def settings_table(evidence: Evidence, title: str = "Settings") -> Table:
    """What the run was asked to do."""
    rows = [
        (shown(name), shown(value, 300)) for name, value in evidence.settings.items() if value is not None
    ]
    return Table(title, ("setting", "value"), tuple(rows), wordy=True)


def comparison_table(names: Sequence[str], facts: Sequence[Sequence[Facts]]) -> Table:
    """One row per experiment, best final test accuracy first: the mean of its seeds, and their deviation.

    Columns in which nobody has a number are left out.
    """
    order = sorted(zip(names, facts, strict=True), key=lambda pair: -(mean_of(pair[1]).final_test or 0.0))
    every = [fact for seeds in facts for fact in seeds]
    kept = [column for column in COMPARED if any(getattr(fact, column) is not None for fact in every)]
    rows = []
    for name, seeds in order:
        shares = [_share([getattr(fact, column) for fact in seeds]) for column in kept]
        rows.append((name, *shares, count(mean_of(seeds).suspects), count(len(seeds))))
    several = any(len(seeds) > 1 for seeds in facts)
    known = all(fact.is_known for fact in every)
    words = {"other": "right", "doubted": "wrong"} if known else {"other": "others", "doubted": "suspected"}
    columns = ("run", *(COMPARED[column].format(**words) for column in kept), "suspects", "seeds")
    note = "in %, mean ± standard deviation over the seeds" if several else ""
    return Table("Runs", columns, tuple(rows), note)


def _share(values: Sequence[float | None]) -> str:
    """
    >>> _share([0.5]), _share([0.5, 0.7]), _share([0.5, None])
    ('50.0%', '60.0 ± 14.1', '–')
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return NONE
    if len(known) == 1:
        return percent(known[0])
    return f"{100 * fmean(known):.1f} ± {100 * stdev(known):.1f}"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return NONE
    return percent(float(value)) if name.endswith("accuracy") else f"{float(value):.4g}"


def _last_class_accuracy(evidence: Evidence) -> list[float | None]:
    for line in reversed(evidence.metrics):
        if line.get("test_class_accuracy"):
            return list(line["test_class_accuracy"])
    return []
