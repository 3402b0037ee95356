"""The suspects of a run for a page, worst first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data import LabelledData
from ..labels.apply import wrong_probability
from ..labels.findings import weakness
from .evidence import Evidence, NotAvailableError
from .inputs import Inputs, inputs_of, pixels
from .markup import spark_points, thumbnail
from .text import one_line

MAX_SUSPECTS = 60
VALUES = 8
"""Values shown of a row that is not an image."""
PAIRS = 10
UNKNOWN = "?"
"""Shown in place of a suggested label if there is none."""


@dataclass(frozen=True)
class Suspect:
    """The card of one suspect."""

    number: int
    given: str
    suggested: str
    truth: str | None
    is_wrong: bool | None
    chance: float
    """Probability that the label is wrong."""
    spark: str
    image: str | None = None
    values: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    """Names and values, if columns have names."""
    file: str | None = None


@dataclass(frozen=True)
class Suspects:
    """The worst suspects, their total number, the most frequent confusions, and warnings."""

    worst: tuple[Suspect, ...]
    total: int
    pairs: tuple[tuple[str, str, int], ...]
    why_no_inputs: str | None
    weakness: str | None = None


def suspects_of(
    evidence: Evidence, data: LabelledData | str | None = None, max_suspects: int = MAX_SUSPECTS
) -> Suspects:
    """The suspects of ``labels.find``, in descending order of the probability of being wrong."""
    frame = evidence.suspects
    rows = evidence.suspected.numpy().nonzero()[0]
    scores = frame["label_score"].to_numpy(dtype=float)
    chances = wrong_probability(frame).to_numpy(dtype=float)
    order = rows[np.lexsort((scores[rows], -chances[rows]))]
    worst, why = order[:max_suspects].tolist(), None
    inputs: Inputs | None = None
    try:
        inputs = inputs_of(evidence, data)
        contents = _contents(inputs, evidence.record.index[torch.tensor(worst, dtype=torch.int64)].tolist())
    except (NotAvailableError, ValueError, OSError) as problem:
        contents, why = [{} for _ in worst], one_line(problem, 300)
    limit = _limit(evidence, worst)
    suggestions = frame["predicted_label"].to_numpy()
    cards = [
        _card(evidence, row, part, limit, chances[row], suggestions[row])
        for row, part in zip(worst, contents, strict=True)
    ]
    pairs = _pairs(evidence, order.tolist())
    return Suspects(tuple(cards), len(order), pairs, why, weakness(frame.attrs))


def _card(
    evidence: Evidence, row: int, content: dict[str, Any], limit: float, chance: float, suggestion: int
) -> Suspect:
    record = evidence.record
    truth = int(record.clean_label[row]) if record.clean_label is not None and evidence.has_wrong else None
    given, suggested = int(record.label[row]), int(suggestion)
    return Suspect(
        number=int(record.index[row]),
        given=one_line(evidence.class_name(given), 40),
        suggested=UNKNOWN if suggested in (given, -1) else one_line(evidence.class_name(suggested), 40),
        truth=None if truth is None else one_line(evidence.class_name(truth), 40),
        is_wrong=None if truth is None else truth != given,
        chance=float(chance),
        spark=spark_points(record.margin[:, row], limit),
        **content,
    )


def _limit(evidence: Evidence, rows: list[int]) -> float:
    """The margin at the edge of the sparklines: the 98% quantile of these samples."""
    size = evidence.record.margin[:, rows].float().abs()
    size = size[size.isfinite()]
    return max(1.0, float(size.quantile(0.98))) if len(size) else 1.0


def _contents(inputs: Inputs, numbers: list[int]) -> list[dict[str, Any]]:
    """Per sample its thumbnail or first values, and its file."""
    contents: list[dict[str, Any]] = []
    for number in numbers:
        sample = inputs.read([number])[0]
        file = inputs.file(number)
        content: dict[str, Any] = {"file": None if file is None else one_line(file, 200)}
        if inputs.are_images:
            content["image"] = thumbnail(pixels(sample))
        elif (cells := inputs.cells(number)) is not None:
            content["columns"] = tuple((one_line(name), one_line(cell)) for name, cell in cells[:VALUES])
        else:
            content |= _values(sample.flatten(), inputs.data.columns)
        contents.append(content)
    return contents


def _values(row: Tensor, columns: tuple[str, ...]) -> dict[str, Any]:
    """
    >>> _values(torch.tensor([1510.0, 0.25]), ("area", "ratio")), _values(torch.arange(9.0), ())
    ({'columns': (('area', '1510'), ('ratio', '0.25'))}, {'values': '0, 1, 2, 3, 4, 5, 6, 7, …'})
    """
    values = [f"{value:.4g}" for value in row[:VALUES].tolist()]
    if len(columns) == len(row):
        return {
            "columns": tuple((one_line(name), value) for name, value in zip(columns, values, strict=False))
        }
    return {"values": ", ".join(values) + (", …" if len(row) > VALUES else "")}


def _pairs(evidence: Evidence, rows: list[int]) -> tuple[tuple[str, str, int], ...]:
    """Given class, suggested class and number of the most frequent confusions."""
    suggested = evidence.suspects["predicted_label"].to_numpy()
    found = ((int(evidence.record.label[row]), int(suggested[row])) for row in rows)
    counts = Counter((given, other) for given, other in found if other not in (given, -1))
    named = [
        (evidence.class_name(a), evidence.class_name(b), times) for (a, b), times in counts.most_common(PAIRS)
    ]
    return tuple((one_line(a, 40), one_line(b, 40), times) for a, b, times in named)
