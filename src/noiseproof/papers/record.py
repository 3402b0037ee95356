"""Numbers as the papers print them: one JSON file per paper under printed/."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

PAPERS = ("gr", "imae", "sl", "nal", "curriculum")


@dataclass(frozen=True)
class Record:
    """One printed number, or word, with what the paper says of it."""

    metric: str
    value: float | str
    std: float | None = None
    dataset: str = ""
    network: str = ""
    noise: str = ""
    rate: float = 0.0
    method: str = ""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    runs: int | None = None
    """Runs the number is the mean of, where the paper says so."""
    best_of: int | None = None
    """Runs the number is the best of."""
    seed: int | None = None
    quoted_from: str = ""
    """Whose number it is, where the table itself says that it was taken from elsewhere."""
    kind: str = "number"
    """"number", "formula" or "qualitative"."""
    note: str = ""


@cache
def printed(paper: str) -> Mapping[str, tuple[Record, ...]]:
    """All tables of a paper by name, in order.

    Example:
        >>> printed("sl")["table3"][-1]
        Record(metric='test_accuracy_%', value=71.02, std=None, dataset='Clothing1M', ...
    """
    text = (files(__package__) / "printed" / f"{paper}.json").read_text(encoding="utf-8")
    return {table: tuple(Record(**entry) for entry in entries) for table, entries in json.loads(text).items()}
