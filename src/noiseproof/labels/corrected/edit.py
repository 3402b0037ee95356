"""What changes in the data: new classes by row, and rows that go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...data import LabelledData
from ...dynamics import RunFolder
from ..apply import class_number, decide, wrong_probability
from ..decisions import NAME, Decision, State, merged, read_decisions
from ..find import find


@dataclass(frozen=True)
class Edit:
    """Rows are numbers of samples, which count the rows of the original from 0.

    ``why`` holds the decision behind each row that changes; rows whose label the noise of the run had changed
    have none.
    """

    relabel: Mapping[int, int]
    drop: frozenset[int]
    why: Mapping[int, Decision] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.relabel and not self.drop:
            raise ValueError("nothing changes: no decision is relabel or drop")


def decided(
    run: RunFolder,
    *,
    relabel: float | None = None,
    drop: float | None = None,
    folds: int | None = None,
) -> dict[int, State]:
    """What people decided about the labels of a run, and for the others what the rules say.

    The rules do not change samples with a decision, also where that is unsure.
    """
    people = merged(read_decisions(run.folder)) if (run.folder / NAME).is_file() else {}
    if relabel is None and drop is None:
        if not people:
            raise ValueError(
                f"there are no decisions about the labels of {run.folder}: use noiseproof labels review, or a"
                " rule such as --relabel-above 0.9"
            )
        return people
    found = find(run, statistics=False, folds=folds)
    rules = decide(found, relabel=relabel, drop=drop)
    if not rules and not people:
        raise ValueError(
            "no rule holds for any label: one is wrong with probability"
            f" {wrong_probability(found).max():.3f} at most"
        )
    return {made.sample: State(made) for made in rules} | people


def edit_of(held: Mapping[int, State], trained: LabelledData, original: LabelledData) -> Edit:
    """Decisions as changes of the original, from which the labels the network saw may differ by noise."""
    now = dict(zip(original.index.tolist(), original.label.tolist(), strict=True))
    seen = dict(zip(trained.index.tolist(), trained.label.tolist(), strict=True))
    if strangers := sorted(sample for sample in held if sample not in seen):
        raise ValueError(f"sample {strangers[0]} was decided about and is not in the data of the run")
    goal, why, dropped = dict(seen), {}, set()
    for sample, state in held.items():
        if state.current.decision == "drop":
            dropped.add(sample)
            why[sample] = state.current
        elif state.current.decision == "relabel":
            goal[sample] = class_number(state.current, trained.class_names)
            why[sample] = state.current
    changed = {row: label for row, label in goal.items() if row not in dropped and label != now.get(row)}
    return Edit(changed, frozenset(dropped), why)
