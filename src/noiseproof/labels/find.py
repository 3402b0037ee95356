"""``find``: which labels are wrong?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..data.host import on_the_cpu
from ..dynamics import Record, RunFolder
from ..dynamics.statistics import STATISTICS, available
from .checks import as_label, as_probabilities, known_names
from .estimate import estimate
from .evidence import Evidence, together
from .from_probabilities import probability_evidence
from .from_record import record_evidence
from .learned import is_weak, learned_from, learns_by_heart, progress
from .score import label_score
from .window import best_window

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


def find(
    run_or_record: RunFolder | Record | str | Path | None = None,
    *,
    probabilities: object = None,
    label: object = None,
    class_names: Sequence[str] | None = None,
    window: int | None = None,
    statistics: bool = True,
) -> DataFrame:
    """Judge every label of a run, of out-of-sample probabilities, or of both together.

    Args:
        run_or_record: a run (or its folder) or a record: margins and predictions of every epoch.
        probabilities: (N, C) predicted by networks that were not trained on the sample, as cross-validation
            gives them; with a record, in its row order.
        label: (N,) given labels; needed, and allowed, only without a record.
        class_names: without a record; the numbers as text if left out.
        window: listen to the first so many epochs and no others; chosen from the record if left out (see
            ``learned_from`` and ``best_window``), and then the last epochs have a say as far as they have
            memorised little.
        statistics: with the columns of ``dynamics.statistics`` that the record allows.

    Returns:
        One row per sample in the order of the record, with ``index`` (permanent number), ``is_label_issue``,
        ``label_score`` (higher = cleaner, in [0, 1]; an issue is below 1/2; NaN for a sample never seen),
        ``given_label``, ``predicted_label`` (-1 if never seen) and the statistics. ``frame.attrs`` holds
        ``noise_rate``, ``class_noise_rate``, ``transition`` (see ``Estimate``), ``window`` and
        ``class_names``; of a record also ``window_begin`` (epochs after it, up to ``window``, were heard),
        ``agreement`` and ``sureness`` at their end (see ``Progress``), ``unlearned_classes``, whose labels
        are marked as often as those of the others, and ``weak`` (see ``is_weak`` and ``record_evidence``;
        only labels that never won are marked then). Clean labels, where there are any, are not looked at.

    Example:
        >>> likely = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.95, 0.05], [0.1, 0.9]]
        >>> found = find(probabilities=likely, label=[0, 0, 1, 1, 1])
        >>> found[found.is_label_issue].drop(columns="label_score")
           index  is_label_issue  given_label  predicted_label
        3      3            True            1                0
        >>> found.attrs["noise_rate"]
        0.2
    """
    with on_the_cpu():
        return _find(_record(run_or_record), probabilities, label, class_names, window, statistics)


def _find(
    record: Record | None,
    probabilities: object,
    label: object,
    class_names: Sequence[str] | None,
    window: int | None,
    statistics: bool,
) -> DataFrame:
    if record is None:
        if probabilities is None:
            raise TypeError("give a run, a record, or probabilities with label=...")
        table = as_probabilities(probabilities)
        given = as_label(label, table)
        evidence, index, names = probability_evidence(given, table), torch.arange(len(given)), class_names
        return _frame(given, index, known_names(names, table.shape[1]), evidence, {"window": None})
    if label is not None or class_names is not None:
        raise TypeError("label= and class_names= go with probabilities alone: the record has its own")
    heard, about = _heard(record, window)
    evidence = record_evidence(record, heard, late=window is None, weak=about["weak"])
    unlearned = [record.class_names[number] for number in evidence.unlearned]
    about |= {"weak": evidence.weak, "unlearned_classes": unlearned}
    if probabilities is not None:
        table = as_probabilities(probabilities, len(record), record.num_classes)
        evidence = together(evidence, probability_evidence(record.label, table))
    frame = _frame(record.label, record.index, record.class_names, evidence, about)
    for name in available(record) if statistics else ():
        frame[name] = STATISTICS[name](record).numpy()
    return frame


def _record(given: RunFolder | Record | str | Path | None) -> Record | None:
    if isinstance(given, (str, Path)):
        given = RunFolder(given)
    if isinstance(given, RunFolder):
        return given.record
    if given is None or isinstance(given, Record):
        return given
    raise TypeError(f"a run, a run folder or a Record is needed, got {type(given).__name__}")


def _heard(record: Record, window: int | None) -> tuple[slice, dict[str, Any]]:
    """The epochs to listen to, and how much the network had learned in them."""
    if not record.epochs or not len(record):
        raise ValueError(f"{record!r} holds nothing to judge by: train for an epoch at least, with a record")
    if window is not None and not 1 <= window <= record.epochs:
        raise ValueError(f"window={window} is out of range: the record has {record.epochs} epochs")
    course = progress(record)
    learned = learned_from(course)
    begin, end = learned or 0, record.epochs
    if window is not None:
        begin, end = 0, window
    elif learned is not None and learns_by_heart(course, begin):
        end = best_window(record, begin)
    facts = {"agreement": float(course.agreed[end - 1]), "sureness": float(course.sure[end - 1])}
    weak = is_weak(course, None if learned is None or learned >= end else begin, end)
    return slice(begin, end), {"window": end, "window_begin": begin, "weak": weak, **facts}


def _frame(
    label: Tensor, index: Tensor, names: tuple[str, ...], evidence: Evidence, about: dict[str, Any]
) -> DataFrame:
    from pandas import DataFrame  # type: ignore[import-untyped]

    score = label_score(evidence.margin, evidence.suspects)
    issue = score < 0.5
    likely = torch.where(issue, evidence.other, label)
    columns = {
        "index": index,
        "is_label_issue": issue,
        "label_score": score,
        "given_label": label,
        "predicted_label": evidence.predicted,
    }
    frame = DataFrame({name: column.numpy() for name, column in columns.items()}, copy=False)
    frame.attrs = {
        **estimate(label, likely, len(names))._asdict(),
        **about,
        "class_names": list(names),
    }
    return frame
