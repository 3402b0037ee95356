"""Numbers of a finished run, by name."""

from __future__ import annotations

from collections.abc import Callable

from ..dynamics.accuracy import hybrid_accuracy
from ..dynamics.run_folder import RunFolder

Reading = Callable[[RunFolder], "float | None"]


def _fitted(name: str) -> Reading:
    return lambda run: (run.result or {}).get("train", {}).get(name)


def _of_result(name: str) -> Reading:
    return lambda run: (run.result or {}).get(name)


def _hybrid(run: RunFolder) -> float | None:
    """Test data and all training inputs together, both with true labels."""
    data = run.manifest["data"]
    tested = 0 if data["test"] is None else data["test"]["samples"]
    final, intact = READINGS["final"](run), READINGS["intact"](run)
    return hybrid_accuracy(final, tested, intact, data["train"]["samples"])


READINGS: dict[str, Reading] = {
    "final": _of_result("final_test_accuracy"),
    "best": _of_result("best_test_accuracy"),
    "corrupted": _fitted("corrupted"),
    "intact": _fitted("intact"),
    "clean_subset": _fitted("clean_subset"),
    "noisy_subset": _fitted("noisy_subset"),
    "hybrid": _hybrid,
    "alpha": _of_result("alpha"),
    "snr": _of_result("snr"),
}
"""Name to the number of a finished run, as a share; None where the run cannot say."""
