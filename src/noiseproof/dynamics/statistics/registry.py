"""All statistics by name."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..record import Record
from .data_map import confidence, variability
from .learning import correctness, first_learned, forgetting
from .margins import area_under_margin, final_margin, mean_margin
from .memory import COLUMNS, memory_disagreement, tau
from .mixture import clean_probability
from .votes import disagreement

STATISTICS: dict[str, Callable[[Record], Tensor]] = {
    "area_under_margin": area_under_margin,
    "mean_margin": mean_margin,
    "final_margin": final_margin,
    "clean_probability": clean_probability,
    "confidence": confidence,
    "variability": variability,
    "correctness": correctness,
    "forgetting": forgetting,
    "first_learned": first_learned,
    "disagreement": disagreement,
    "tau": tau,
    "memory_disagreement": memory_disagreement,
}
"""Each takes a Record and returns (N,) float32, NaN for samples that were never visited."""


def available(record: Record) -> list[str]:
    """Names of the statistics whose columns this record has."""
    return [name for name in STATISTICS if name not in COLUMNS or COLUMNS[name] in record.extra]
