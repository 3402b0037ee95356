"""Finished runs stand for what their settings ask for only while the data are the same."""

from __future__ import annotations

import warnings
from pathlib import Path

from .begun import check_data, manifest_of
from .config import Config
from .task import Task, make_task

OF_THE_DATA = (
    *("data", "test", "noise", "noise_seed", "exact_noise"),
    *("seed", "validation", "validation_labels"),
)
"""Settings that decide samples and labels."""


def check_all_kept(runs: list[tuple[Config, Path]]) -> None:
    """Finished runs are kept while the data are what they were trained on, as far as that can be seen now.

    Looked at are the runs with the labels of the first one: its data has to be loaded for that.
    """
    if not runs:
        return
    first = runs[0][0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # who trains on them is warned
            task = make_task(first)
    except (OSError, ValueError, TypeError, ImportError):
        return  # the data are gone, the results are not
    for config, folder in runs:
        if all(getattr(config, name) == getattr(first, name) for name in OF_THE_DATA):
            check_kept(folder, task)


def check_kept(folder: Path, task: Task) -> None:
    """Whether a finished run may stand for what its settings ask for now."""
    before = manifest_of(folder)
    if before is not None:
        check_data(folder, before, {"data": task.facts(), "noise": task.noise})
