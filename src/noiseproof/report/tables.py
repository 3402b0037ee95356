"""Tables of a page, as rows of text."""

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
from .text import NONE, count, one_line, percent

MAX_CLASS_ROWS = 100
MAX_EPOCH_ROWS = 40
PAIRS = 20
"""Largest number of kinds of changes that are listed."""
EPOCH_COLUMNS = {
    "loss": ("loss", "mean loss over the samples of the epoch"),
    "test_accuracy": ("test", "share of the test samples whose label is predicted"),
    "validation_accuracy": ("validation", "the same for the validation samples, which select the best epoch"),
    "corrupted_accuracy": (
        "given labels",
        "share of the training samples whose given label is predicted, wrong labels included"
        " (corrupted in metrics.jsonl and result.json)",
    ),
    "intact_accuracy": ("clean labels", "share of the samples whose true class is predicted (intact)"),
    "clean_subset_accuracy": ("right labels", "share of the right labels predicted (clean_subset)"),
    "noisy_subset_accuracy": ("wrong labels", "share of the wrong labels predicted (noisy_subset)"),
    "alpha": ("alpha", "average update scale: mean L1 norm of the logit gradient since the first step"),
    "snr": ("snr", "mean emphasis on right labels divided by that on wrong ones"),
    "lr": ("learning rate", "at the end of the epoch"),
}
"""Heading and meaning of each metric."""
CLASS_MEANINGS = (
    ("samples", "training samples with this label"),
    ("suspects", "of these, labels suspected to be wrong"),
    ("suspected", "suspects as a share of the samples"),
    ("wrong", "share of the labels that are known to be wrong, if clean labels are known"),
    ("test accuracy", "share of the test samples of this class that are predicted correctly"),
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
"""Headings; ``other`` and ``doubted`` are right and wrong labels, or others and suspects."""


@dataclass(frozen=True)
class Table:
    """A title, column names, and rows whose first cell is their heading."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    wordy: bool = False
    """Whether cells contain text that may be wrapped."""
    meanings: tuple[tuple[str, str], ...] = ()
    """Explanations of columns."""


def class_table(evidence: Evidence) -> Table:
    """Per class: samples, suspects, wrong labels and test accuracy; the most suspected first."""
    record = evidence.record
    total = torch.bincount(record.label, minlength=record.num_classes)
    suspected = torch.bincount(record.label[evidence.suspected], minlength=record.num_classes)
    flipped = record.flipped
    wrong = None if flipped is None else torch.bincount(record.label[flipped], minlength=len(total))
    tested = _last_class_accuracy(evidence)
    rows = []
    for number in suspected.argsort(descending=True, stable=True)[:MAX_CLASS_ROWS].tolist():
        size = int(total[number])
        cells = [one_line(evidence.class_name(number)), count(size), count(int(suspected[number]))]
        cells.append(percent(int(suspected[number]) / size if size else None))
        cells.append(NONE if wrong is None else percent(int(wrong[number]) / size if size else None))
        cells.append(percent(tested[number]) if number < len(tested) else NONE)
        rows.append(tuple(cells))
    many = record.num_classes > MAX_CLASS_ROWS
    note = f"the {MAX_CLASS_ROWS} most suspected of {record.num_classes}" if many else ""
    columns = ("class as given", "samples", "suspects", "suspected", "wrong", "test accuracy")
    return Table("Classes", columns, tuple(rows), note, meanings=CLASS_MEANINGS)


def epoch_table(evidence: Evidence) -> Table:
    """The metrics of the epochs; of many epochs, every k-th and the last."""
    lines = evidence.metrics
    every = max(1, -(-len(lines) // MAX_EPOCH_ROWS))
    kept = [line for number, line in enumerate(lines) if number % every == 0 or number == len(lines) - 1]
    names = [name for name in EPOCH_COLUMNS if any(line.get(name) is not None for line in lines)]
    rows = [(str(line.get("epoch")), *(_cell(name, line.get(name)) for name in names)) for line in kept]
    note = f"one in {every} of {len(lines)} epochs" if every > 1 else ""
    meanings = tuple(EPOCH_COLUMNS[name] for name in names)
    columns = ("epoch", *(heading for heading, _ in meanings))
    return Table("Epochs", columns, tuple(rows), note, meanings=meanings)


def settings_table(evidence: Evidence, title: str = "Settings") -> Table:
    """The settings of the run."""
    given = evidence.settings.items()
    rows = tuple((one_line(name), one_line(value, 300)) for name, value in given if value is not None)
    return Table(title, ("setting", "value"), rows, wordy=True)


def comparison_table(names: Sequence[str], facts: Sequence[Sequence[Facts]]) -> Table:
    """One row per experiment with mean and standard deviation of its seeds, best final accuracy first.

    Columns without numbers are left out.
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
    """The section of corrections of a page."""

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]


def corrections_of(evidence: Evidence) -> Corrections | None:
    """A comparison of original and corrected data, or the decisions of a review; None if there are none."""
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
    sentences = [
        f"This run was trained on corrected data: {what}, compared with {one_line(log.original, 300)}."
    ]
    before = _result(log.run)
    now = evidence.run.result if isinstance(evidence.run, RunFolder) else None
    rows = []
    if before is not None and now is not None:
        for key, name in COMPARED_RESULTS:
            if before.get(key) is not None or now.get(key) is not None:
                rows.append((name, percent(before.get(key)), percent(now.get(key))))
        sentences.append(f"The run before is {one_line(log.run, 300)}, whose labels were reviewed.")
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
    rows = [(one_line(before, 40), one_line(after, 40), count(times)) for (before, after), times in most]
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
    """Samples per class before and after; no rows if nothing changed."""
    rows = tuple((one_line(name), count(before[name]), count(after[name])) for name in names)
    rows = rows if before != after else ()
    return Table("Samples per class", ("class", "before", "after"), rows, note="" if rows else NONE)


def _decided(evidence: Evidence, states: dict[int, State]) -> Corrections:
    kinds = Counter(state.current.decision for state in states.values())
    judged = kinds["keep"] + kinds["relabel"] + kinds["drop"]
    wrong = kinds["relabel"] + kinds["drop"]
    conflicts = sum(state.conflict is not None for state in states.values())
    verb = "was" if len(states) == 1 else "were"
    sentences = [f"{count(len(states), 'sample')} {verb} reviewed with noiseproof labels review."]
    if judged:
        sentences.append(
            f"Of {count(judged, 'decided label')}, {percent(wrong / judged, 0)} were wrong. Write corrected"
            " data with noiseproof labels apply."
        )
    if conflicts:
        sentences.append(f"Number of samples with conflicting decisions: {count(conflicts)}.")
    words = {
        "keep": ("kept", "the given label is right"),
        "relabel": ("relabelled", "another label is right"),
        "drop": ("dropped", "the sample should not be in the data"),
        "unsure": ("unsure", "to be reviewed again"),
    }
    rows = [(name, count(kinds[kind]), meaning) for kind, (name, meaning) in words.items()]
    table = Table("Decisions", ("decision", "samples", "meaning"), tuple(rows), wordy=True)
    return Corrections("Decisions", tuple(sentences), (table, _class_counts(evidence, states)))


def _class_counts(evidence: Evidence, states: dict[int, State]) -> Table:
    """Samples per class before and after the decisions."""
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
