"""``apply``: correct labels in memory by decisions. ``decide``: make decisions by a threshold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..data import LabelledData
from ..dynamics import RunFolder
from .decisions import Decision, State, current_states, from_mapping, read_decisions

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

Decisions: TypeAlias = (
    "RunFolder | str | os.PathLike[str] | DataFrame | Iterable[Decision | Mapping[str, Any]]"
)
"""A run or its folder, a decisions.jsonl, a table with columns sample, decision, label, or decisions."""


def apply(data: LabelledData, decisions: Decisions) -> LabelledData:
    """The data with corrected labels and without the dropped samples; inputs are not copied.

    The latest decision about a sample applies, see ``current_states``. ``keep`` and ``unsure`` change
    nothing. Samples keep their permanent numbers, and known clean labels are not changed.

    Args:
        data: the data that the decisions are about.
        decisions: of reviewers (a run folder, its decisions.jsonl) or of a rule (``decide``).

    Example:
        >>> import torch
        >>> data = LabelledData(torch.rand(3, 2), [0, 1, 1], class_names=["cat", "dog"])
        >>> better = apply(data, [Decision(1, "relabel", "cat"), Decision(2, "drop")])
        >>> better.label, better.index
        (tensor([0, 0]), tensor([0, 1]))
    """
    if not isinstance(data, LabelledData):
        raise TypeError(f"data is a {type(data).__name__}: give LabelledData(X, labels)")
    states = current_decisions(decisions)
    position_of = {number: position for position, number in enumerate(data.index.tolist())}
    if unknown := sorted(sample for sample in states if sample not in position_of):
        raise ValueError(
            f"there is a decision about sample {unknown[0]}, which is not in the data: pass those of the run"
        )
    label, dropped = data.label.clone(), set()
    for sample, state in states.items():
        if state.current.decision == "relabel":
            label[position_of[sample]] = class_number(state.current, data.class_names)
        elif state.current.decision == "drop":
            dropped.add(position_of[sample])
    changed = data.with_labels(label)
    if not dropped:
        return changed
    kept = [position for position in range(len(data)) if position not in dropped]
    if not kept:
        raise ValueError(f"all {len(data)} samples are dropped: keep at least one")
    return changed.subset(kept)


def decide(
    found: DataFrame, *, relabel: float | None = None, drop: float | None = None, why: str = ""
) -> list[Decision]:
    """Decisions by a rule: labels that are probably wrong are relabelled or dropped.

    A label is replaced by the suggested class if the ``predicted_probability`` of this class is at least
    ``relabel``. A sample is dropped if its ``wrong_probability`` is at least ``drop``. If both are true,
    the higher threshold applies.

    Args:
        found: the frame of ``labels.find``.

    Example:
        >>> import pandas
        >>> names = ["cat", "dog"]
        >>> found = pandas.DataFrame({"index": [5, 8], "wrong_probability": [0.97, 0.7],
        ...                           "given_label": [0, 1], "predicted_label": [1, 0],
        ...                           "predicted_probability": [0.95, 0.7]})
        >>> found.attrs["class_names"] = names
        >>> [(made.sample, made.decision, made.label) for made in decide(found, relabel=0.9, drop=0.5)]
        [(5, 'relabel', 'dog'), (8, 'drop', None)]
    """
    rules = {kind: limit for kind, limit in (("relabel", relabel), ("drop", drop)) if limit is not None}
    if not rules:
        raise ValueError("a threshold is needed: give relabel=0.9, drop=0.5, or both")
    for kind, limit in rules.items():
        if not 0 < limit <= 1:
            raise ValueError(f"{kind}={limit} must be a probability, above 0 and at most 1")
    order = sorted(rules, key=lambda kind: (-rules[kind], kind != "relabel"))
    names, made = found.attrs["class_names"], []
    chances = wrong_probability(found)
    sure = found["predicted_probability"].fillna(0.0) if "predicted_probability" in found else chances
    columns = (found["index"], chances, sure, found["given_label"], found["predicted_label"])
    for sample, wrong, right, given, other in zip(*(column.tolist() for column in columns), strict=True):
        for kind in order:
            chance, what = (right, "the suggested class is right") if kind == "relabel" else (wrong, "wrong")
            if chance >= rules[kind] and (kind == "drop" or other not in (given, -1)):
                reason = why or f"rule: {what} with probability {chance:.3f}, {kind} from {rules[kind]:g}"
                label = names[other] if kind == "relabel" else None
                made.append(Decision(int(sample), kind, label, why=reason))
                break
    return made


def wrong_probability(found: DataFrame) -> Any:
    """The column ``wrong_probability``, or 1 - label_score in a frame without it."""
    chance = found["wrong_probability"] if "wrong_probability" in found else 1 - found["label_score"]
    return chance.fillna(0.0)


def current_decisions(decisions: Decisions) -> dict[int, State]:
    """The current state of each sample that has a decision."""
    if isinstance(decisions, RunFolder):
        decisions = decisions.folder
    if isinstance(decisions, (str, Path, os.PathLike)):
        return current_states(read_decisions(decisions))
    if hasattr(decisions, "to_dict"):
        decisions = decisions.to_dict(orient="records")
    if isinstance(decisions, Mapping):
        raise TypeError(
            "decisions must be a list, not a dict: [Decision(7, 'relabel', 'cat')] or"
            " [{'sample': 7, 'decision': 'relabel', 'label': 'cat'}]"
        )
    listed = [found if isinstance(found, Decision) else from_mapping(found) for found in decisions]
    return current_states(listed)


def class_number(decision: Decision, class_names: Sequence[str]) -> int:
    """The class number of a ``relabel`` decision."""
    label = decision.label
    if isinstance(label, str):
        if label in class_names:
            return class_names.index(label)
    elif label is not None and 0 <= label < len(class_names):
        return label
    raise ValueError(
        f"sample {decision.sample} is relabelled to {label!r}, which is not a class of the data"
        f" ({', '.join(class_names[:5])}{', ...' if len(class_names) > 5 else ''})"
    )
