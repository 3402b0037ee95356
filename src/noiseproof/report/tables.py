"""Numbers behind the figures, as rows of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch

from ..dynamics import RunFolder
from ..labels.corrected.log import ChangeLog, log_of
from ..labels.decisions import NAME, DecisionLog, State
from .evidence import Evidence
from .summary import Facts, mean_of
from .wording import NONE, count, percent, shown

MOST_CLASSES = 100
MOST_EPOCHS = 40
PAIRS = 20
"""Kinds of changes that are listed."""
EPOCH_COLUMNS = {
    "loss": ("loss", "mean of what was minimised, over the samples of the epoch"),
    "test_accuracy": ("test", "share of the test samples predicted as labelled"),
    "validation_accuracy": ("validation", "share of the samples put aside to choose the best epoch"),
    "corrupted_accuracy": (
        "given labels",
        "share of the training samples predicted as given, wrong labels included"
        " (corrupted in metrics.jsonl and result.json)",
    ),
    "intact_accuracy": ("clean labels", "share of the samples predicted as their true class (intact)"),
    "clean_subset_accuracy": ("right labels", "share of the right labels predicted (clean_subset)"),
    "noisy_subset_accuracy": ("wrong labels", "share of the wrong labels predicted (noisy_subset)"),
    "alpha": ("alpha", "mean emphasis so far: the size of the gradient, from 0 to 1 for cross entropy"),
    "snr": ("snr", "mean emphasis on right labels divided by that on wrong ones"),
    "lr": ("learning rate", "step size of the optimiser at the end of the epoch"),
}
"""Metric to heading and meaning."""
CLASS_MEANINGS = (
    ("samples", "training samples with this label"),
    ("suspects", "of these, labels suspected to be wrong"),
    ("suspected", "suspects as a share of the samples"),
    ("wrong", "share of the labels that are known to be wrong; no number where the truth is not known"),
    ("test accuracy", "share of the test samples of this class predicted right"),
)
COMPARED_RESULTS = ("final_test_accuracy", "test accuracy"), ("best_test_accuracy", "best test accuracy")
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
    total = torch.bincount(record.label, minlength=record.num_classes)
    suspected = torch.bincount(record.label[evidence.suspected], minlength=record.num_classes)
    flipped = record.flipped
    wrong = None if flipped is None else torch.bincount(record.label[flipped], minlength=len(total))
    tested = _last_class_accuracy(evidence)
    rows = []
    for number in suspected.argsort(descending=True, stable=True)[:MOST_CLASSES].tolist():
        size = int(total[number])
        cells = [shown(evidence.class_name(number)), count(size), count(int(suspected[number]))]
        cells.append(percent(int(suspected[number]) / size if size else None))
        cells.append(NONE if wrong is None else percent(int(wrong[number]) / size if size else None))
        cells.append(percent(tested[number]) if number < len(tested) else NONE)
        rows.append(tuple(cells))
    many = record.num_classes > MOST_CLASSES
    note = f"the {MOST_CLASSES} most suspected of {record.num_classes}" if many else ""
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
    meanings = tuple(EPOCH_COLUMNS[name] for name in names)
    columns = ("epoch", *(heading for heading, _ in meanings))
    return Table("Epochs", columns, tuple(rows), note, meanings=meanings)


def settings_table(evidence: Evidence, title: str = "Settings") -> Table:
    """What the run was asked to do."""
    given = evidence.settings.items()
    rows = tuple((shown(name), shown(value, 300)) for name, value in given if value is not None)
    return Table(title, ("setting", "value"), rows, wordy=True)


def comparison_table(names: Sequence[str], facts: Sequence[Sequence[Facts]]) -> Table:
    """One row per experiment, best final test accuracy first: the mean of its seeds, and their deviation.

    Columns without any number are left out.
    """
    order = sorted(zip(names, facts, strict=True), key=lambda pair: -(mean_of(pair[1]).final_test or 0.0))
    every = [fact for seeds in facts for fact in seeds]
    kept = [column for column in COMPARED if any(getattr(fact, column) is not None for fact in every)]
    rows = []
    for name, seeds in order:
        shares = [_mean_share([getattr(fact, column) for fact in seeds]) for column in kept]
        rows.append((name, *shares, count(mean_of(seeds).suspects), count(len(seeds))))
    several = any(len(seeds) > 1 for seeds in facts)
    known = all(fact.is_known for fact in every)
    words = {"other": "right", "doubted": "wrong"} if known else {"other": "others", "doubted": "suspected"}
    columns = ("run", *(COMPARED[column].format(**words) for column in kept), "suspects", "seeds")
    note = "in %, mean ± standard deviation over the seeds" if several else ""
    return Table("Runs", columns, tuple(rows), note)


def _mean_share(values: Sequence[float | None]) -> str:
    """
    >>> _mean_share([0.5]), _mean_share([0.5, 0.7]), _mean_share([0.5, None])
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


@dataclass(frozen=True)
class Corrections:
    """A section of the page."""

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]


def corrections_of(evidence: Evidence) -> Corrections | None:
    """Before and after of a run on corrected data; decisions so far of a run that was reviewed."""
    if not isinstance(evidence.run, RunFolder):
        return None
    log = log_of(evidence.settings.get("data"))
    if log is not None:
        return _before_and_after(evidence, log)
    states = _states(evidence.run.folder / NAME)
    return _decided(evidence, states) if states else None


def _states(path: Path) -> dict[int, State]:
    try:
        return DecisionLog(path).states()
    except (OSError, ValueError):
        return {}


def _before_and_after(evidence: Evidence, log: ChangeLog) -> Corrections:
    dropped = len(log.changes) - log.relabelled
    what = f"{count(log.relabelled, 'label')} changed and {count(dropped, 'sample')} dropped"
    sentences = [f"This run was trained on corrected data: {what}, compared with {shown(log.original, 300)}."]
    before = _result(log.run)
    now = evidence.run.result if isinstance(evidence.run, RunFolder) else None
    rows = []
    if before is not None and now is not None:
        for key, name in COMPARED_RESULTS:
            if before.get(key) is not None or now.get(key) is not None:
                rows.append((name, percent(before.get(key)), percent(now.get(key))))
        sentences.append(f"Before is the run {shown(log.run, 300)}, whose labels were reviewed.")
    samples = len(evidence.record)
    rows.append(("training samples", count(samples + dropped), count(samples)))
    table = Table("Numbers", ("number", "before", "after"), tuple(rows))
    tables = table, _pairs(log), _class_changes(evidence, log)
    return Corrections("Before and after", tuple(sentences), tables)


def _result(run: str | None) -> dict[str, float] | None:
    try:
        return None if run is None else RunFolder(run).result
    except (OSError, ValueError):
        return None


def _pairs(log: ChangeLog) -> Table:
    pairs = Counter((change.before, change.after or "(dropped)") for change in log.changes)
    most = pairs.most_common(PAIRS)
    rows = [(shown(before, 40), shown(after, 40), count(times)) for (before, after), times in most]
    more = len(pairs) - len(rows)
    note = f"the {PAIRS} most frequent; {more} more are in the log of changes" if more > 0 else ""
    return Table("Changes", ("label before", "label after", "samples"), tuple(rows), note)


def _class_changes(evidence: Evidence, log: ChangeLog) -> Table:
    names = evidence.class_names
    after = Counter(names[number] for number in evidence.record.label.tolist())
    before = after - Counter(change.after for change in log.changes if change.after is not None)
    before += Counter(change.before for change in log.changes)
    return _per_class(names, before, after)


def _per_class(names: Sequence[str], before: Counter[str], after: Counter[str]) -> Table:
    """Samples per class before and after; no rows where nothing changed."""
    rows = tuple((shown(name), count(before[name]), count(after[name])) for name in names)
    rows = rows if before != after else ()
    return Table("Samples per class", ("class", "before", "after"), rows, note="" if rows else NONE)


def _decided(evidence: Evidence, states: dict[int, State]) -> Corrections:
    kinds = Counter(state.current.decision for state in states.values())
    judged = kinds["keep"] + kinds["relabel"] + kinds["drop"]
    wrong = kinds["relabel"] + kinds["drop"]
    conflicts = sum(state.conflict is not None for state in states.values())
    sentences = [f"{count(len(states), 'sample')} were looked at with noiseproof labels review."]
    if judged:
        sentences.append(
            f"Of the {count(judged, 'label')} that reviewers decided on, {percent(wrong / judged, 0)} were"
            " wrong. Corrected data are made of the decisions by noiseproof labels apply."
        )
    if conflicts:
        sentences.append(f"{count(conflicts, 'sample')} were decided differently by two people.")
    words = {
        "keep": ("kept", "the given label is right"),
        "relabel": ("relabelled", "another label is right"),
        "drop": ("dropped", "the sample should not be in the data"),
        "unsure": ("unsure", "to be looked at again"),
    }
    rows = [(name, count(kinds[kind]), meaning) for kind, (name, meaning) in words.items()]
    table = Table("Decisions", ("decision", "samples", "meaning"), tuple(rows), wordy=True)
    return Corrections("Decisions", tuple(sentences), (table, _to_be(evidence, states)))


def _to_be(evidence: Evidence, states: dict[int, State]) -> Table:
    """Samples per class as they are, and as the decisions make them."""
    record, names = evidence.record, evidence.class_names
    given = [names[number] for number in record.label.tolist()]
    after = Counter[str]()
    for sample, name in zip(record.index.tolist(), given, strict=True):
        current = states[sample].current if sample in states else None
        if current is None or current.decision not in ("drop", "relabel"):
            after[name] += 1
        elif current.decision == "relabel":
            label = names[current.label] if isinstance(current.label, int) else current.label
            after[label if label in names else name] += 1
    return _per_class(names, Counter(given), after)
