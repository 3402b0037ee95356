"""The suspects of a run as a page shows them, worst first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data import LabelledData
from ..labels.apply import wrong_probability
from ..labels.findings import weakness
from .evidence import Evidence, NothingToShow
from .inputs import Inputs, inputs_of, pixels
from .markup import spark_points, thumbnail
from .wording import shown

MOST = 60
VALUES = 8
"""Of a row that is not an image."""
PAIRS = 10
UNKNOWN = "?"
"""Stands for the better label where there is none to suggest."""


@dataclass(frozen=True)
class Suspect:
    """One card of the page."""

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
    """Name and value, where columns have names."""
    file: str | None = None


@dataclass(frozen=True)
class Suspects:
    """The worst, how many in all, the commonest confusions; why no pictures, and why not to trust it."""

    worst: tuple[Suspect, ...]
    total: int
    pairs: tuple[tuple[str, str, int], ...]
    why_no_inputs: str | None
    weakness: str | None = None


def suspects_of(evidence: Evidence, data: LabelledData | str | None = None, most: int = MOST) -> Suspects:
    """Samples ``labels.find`` calls an issue, the most probably wrong first."""
    frame = evidence.suspects
    rows = evidence.suspected.numpy().nonzero()[0]
    scores = frame["label_score"].to_numpy(dtype=float)
    chances = wrong_probability(frame).to_numpy(dtype=float)
    order = rows[np.lexsort((scores[rows], -chances[rows]))]
    worst, why = order[:most].tolist(), None
    inputs: Inputs | None = None
    try:
        inputs = inputs_of(evidence, data)
        pictures = _looks(inputs, evidence.record.index[torch.tensor(worst, dtype=torch.int64)].tolist())
    except (NothingToShow, ValueError, OSError) as problem:
        pictures, why = [{} for _ in worst], shown(problem, 300)
    limit = _limit(evidence, worst)
    cards = [_card(evidence, row, look, limit, chances) for row, look in zip(worst, pictures, strict=True)]
    pairs = _pairs(evidence, order.tolist())
    return Suspects(tuple(cards), len(order), pairs, why, weakness(frame.attrs))


def _card(
    evidence: Evidence, row: int, look: dict[str, Any], limit: float, chances: NDArray[np.float64]
) -> Suspect:
    record, frame = evidence.record, evidence.suspects
    truth = int(record.clean_label[row]) if record.clean_label is not None and evidence.has_wrong else None
    given, suggested = int(record.label[row]), int(frame["predicted_label"].iloc[row])
    return Suspect(
        number=int(record.index[row]),
        given=shown(evidence.class_name(given), 40),
        suggested=UNKNOWN if suggested in (given, -1) else shown(evidence.class_name(suggested), 40),
        truth=None if truth is None else shown(evidence.class_name(truth), 40),
        is_wrong=None if truth is None else truth != given,
        chance=float(chances[row]),
        spark=spark_points(record.margin[:, row], limit),
        **look,
    )


def _limit(evidence: Evidence, rows: list[int]) -> float:
    """The margin that reaches the edge of a small line: nearly the largest of these samples."""
    size = evidence.record.margin[:, rows].float().abs()
    size = size[size.isfinite()]
    return max(1.0, float(size.quantile(0.98))) if len(size) else 1.0


def _looks(inputs: Inputs, numbers: list[int]) -> list[dict[str, Any]]:
    """Per sample its picture or its first values, and its file."""
    looks: list[dict[str, Any]] = []
    for number in numbers:
        sample = inputs.read([number])[0]
        file = inputs.file(number)
        look: dict[str, Any] = {"file": None if file is None else shown(file, 200)}
        if inputs.are_images:
            look["image"] = thumbnail(pixels(sample))
        elif (cells := inputs.cells(number)) is not None:
            look["columns"] = tuple((shown(name, 60), shown(cell, 60)) for name, cell in cells[:VALUES])
        else:
            look |= _values(sample.flatten(), inputs.data.columns)
        looks.append(look)
    return looks


def _values(row: Tensor, columns: tuple[str, ...]) -> dict[str, Any]:
    """
    >>> _values(torch.tensor([1510.0, 0.25]), ("area", "ratio")), _values(torch.arange(9.0), ())
    ({'columns': (('area', '1510'), ('ratio', '0.25'))}, {'values': '0, 1, 2, 3, 4, 5, 6, 7, …'})
    """
    told = [f"{value:.4g}" for value in row[:VALUES].tolist()]
    if len(columns) == len(row):
        return {
            "columns": tuple((shown(name, 60), value) for name, value in zip(columns, told, strict=False))
        }
    return {"values": ", ".join(told) + (", …" if len(row) > VALUES else "")}


def _pairs(evidence: Evidence, rows: list[int]) -> tuple[tuple[str, str, int], ...]:
    """Given and suggested class of the commonest confusions."""
    suggested = evidence.suspects["predicted_label"].to_numpy()
    found = ((int(evidence.record.label[row]), int(suggested[row])) for row in rows)
    counts = Counter((given, other) for given, other in found if other not in (given, -1))
    named = [
        (evidence.class_name(a), evidence.class_name(b), times) for (a, b), times in counts.most_common(PAIRS)
    ]
    return tuple((shown(a, 40), shown(b, 40), times) for a, b, times in named)
