"""What became of the labels: decisions made about a run, or a run on corrected data beside the one before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..dynamics import RunFolder
from ..labels.corrected.log import ChangeLog, log_of
from ..labels.decisions import NAME, DecisionLog, State
from .evidence import Evidence
from .tables import Table
from .wording import NONE, count, percent, shown

PAIRS = 20


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
        for key, name in (
            ("final_test_accuracy", "test accuracy"),
            ("best_test_accuracy", "best test accuracy"),
        ):
            if before.get(key) is not None or now.get(key) is not None:
                rows.append((name, percent(before.get(key)), percent(now.get(key))))
        sentences.append(f"Before is the run {shown(log.run, 300)}, whose labels were judged.")
    samples = len(evidence.record)
    rows.append(("training samples", count(samples + dropped), count(samples)))
    table = Table("Numbers", ("number", "before", "after"), tuple(rows))
    return Corrections(
        "Before and after", tuple(sentences), (table, _pairs(log), _class_changes(evidence, log))
    )


def _result(run: str | None) -> dict[str, float] | None:
    try:
        return None if run is None else RunFolder(run).result
    except (OSError, ValueError):
        return None


def _pairs(log: ChangeLog) -> Table:
    pairs = Counter((change.before, change.after or "(dropped)") for change in log.changes)
    rows = [
        (shown(before, 40), shown(after, 40), count(times))
        for (before, after), times in pairs.most_common(PAIRS)
    ]
    more = len(pairs) - len(rows)
    note = f"the {PAIRS} most frequent; {more} more are in the log of changes" if more > 0 else ""
    return Table("Changes", ("label before", "label after", "samples"), tuple(rows), note)


def _class_changes(evidence: Evidence, log: ChangeLog) -> Table:
    """Samples per class before and after."""
    names = evidence.class_names
    after = Counter(names[number] for number in evidence.record.label.tolist())
    before = after - Counter(change.after for change in log.changes if change.after is not None)
    before += Counter(change.before for change in log.changes)
    rows = [(shown(name), count(before[name]), count(after[name])) for name in names]
    return Table("Samples per class", ("class", "before", "after"), tuple(rows))


def _decided(evidence: Evidence, states: dict[int, State]) -> Corrections:
    kinds = Counter(state.current.decision for state in states.values())
    judged = kinds["keep"] + kinds["relabel"] + kinds["drop"]
    wrong = kinds["relabel"] + kinds["drop"]
    conflicts = sum(state.conflict is not None for state in states.values())
    sentences = [f"{count(len(states), 'sample')} were looked at with noiseproof labels review."]
    if judged:
        sentences.append(
            f"Of the {count(judged, 'label')} that somebody was sure about, {percent(wrong / judged, 0)} were"
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
    before, after = Counter(record.label.tolist()), Counter[int]()
    place = {name: number for number, name in enumerate(names)}
    for sample, given in zip(record.index.tolist(), record.label.tolist(), strict=True):
        current = states[sample].current if sample in states else None
        if current is None or current.decision not in ("drop", "relabel"):
            after[given] += 1
        elif current.decision == "relabel":
            label = place.get(current.label, given) if isinstance(current.label, str) else current.label
            after[given if label is None else label] += 1
    rows = [(shown(name), count(before[number]), count(after[number])) for number, name in enumerate(names)]
    rows = rows if any(before[number] != after[number] for number in range(len(names))) else []
    return Table("Samples per class", ("class", "before", "after"), tuple(rows), note="" if rows else NONE)
