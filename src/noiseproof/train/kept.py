"""Finished runs stand for what their settings ask for only while data and loss are the same."""

from __future__ import annotations

import warnings
from pathlib import Path

from .begun import check_data, check_loss, manifest_of
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
    for config, folder in runs:
        check_kept_loss(folder, config)
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


def check_kept_loss(folder: Path, config: Config) -> None:
    """Whether the loss of a finished run is what its settings ask for now."""
    before = manifest_of(folder)
    if before is not None:
        check_loss(folder, before, config)


def check_kept(folder: Path, task: Task) -> None:
    """Whether the data of a finished run are those its settings give now."""
    before = manifest_of(folder)
    if before is not None:
        check_data(folder, before, {"data": task.facts(), "noise": task.noise})
