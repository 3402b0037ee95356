"""Changes of the data: new classes by row, and rows to drop."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...data import LabelledData
from ...dynamics import RunFolder
from ..apply import class_number, decide, wrong_probability
from ..decisions import NAME, Decision, State, current_states, read_decisions
from ..find import find
from ..findings import weakness


@dataclass(frozen=True)
class Edit:
    """New classes and dropped rows, by sample number, which is the row of the original counted from 0.

    ``why`` holds the decision about each row; rows that only the noise of the run changed have none.
    """

    relabel: Mapping[int, int]
    drop: frozenset[int]
    why: Mapping[int, Decision] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.relabel and not self.drop:
            raise ValueError("there is nothing to change: no decision is relabel or drop")


def collect_decisions(
    run: RunFolder,
    *,
    relabel: float | None = None,
    drop: float | None = None,
    folds: int | None = None,
) -> dict[int, State]:
    """The decisions of reviewers about the labels of a run, and decisions by rules for all other samples.

    Rules do not change samples with a decision, even if it is ``unsure``.
    """
    reviewed = current_states(read_decisions(run.folder)) if (run.folder / NAME).is_file() else {}
    if relabel is None and drop is None:
        if not reviewed:
            raise ValueError(
                f"there are no decisions about the labels of {run.folder}: use noiseproof labels review, or a"
                " rule such as --relabel-above 0.9"
            )
        return reviewed
    found = find(run, statistics=False, folds=folds)
    rules = decide(found, relabel=relabel, drop=drop)
    if not rules and not reviewed:
        raise ValueError(
            f"no label reaches a threshold: the highest probability is {wrong_probability(found).max():.3f}"
        )
    if rules and (words := weakness(found.attrs)) is not None:
        warnings.warn(f"{len(rules):,} labels reach a threshold on weak evidence. {words}", stacklevel=3)
    return {made.sample: State(made) for made in rules} | reviewed


def make_edit(states: Mapping[int, State], judged: Sequence[LabelledData], original: LabelledData) -> Edit:
    """Changes of the original data that apply the decisions to the labels of the run.

    ``judged`` are the training and validation data of the run, with the noise that it added.
    """
    now = dict(zip(original.index.tolist(), original.label.tolist(), strict=True))
    seen = {
        row: label
        for data in judged
        for row, label in zip(data.index.tolist(), data.label.tolist(), strict=True)
    }
    if unknown := sorted(sample for sample in states if sample not in seen):
        raise ValueError(
            f"there is a decision about sample {unknown[0]}, which is not in the data of the run"
        )
    goal, why, dropped = dict(seen), {}, set()
    for sample, state in states.items():
        if state.current.decision == "drop":
            dropped.add(sample)
            why[sample] = state.current
        elif state.current.decision == "relabel":
            goal[sample] = class_number(state.current, original.class_names)
            why[sample] = state.current
    changed = {row: label for row, label in goal.items() if row not in dropped and label != now.get(row)}
    return Edit(changed, frozenset(dropped), why)
