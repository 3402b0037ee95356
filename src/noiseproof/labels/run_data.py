"""Load the training data of a run again."""

from __future__ import annotations

import warnings

from ..data import LabelledData
from ..dynamics import RunFolder
from ..train import Config
from ..train.task import fingerprint, in_format_of, make_task


def training_data(run: RunFolder) -> LabelledData:
    """Inputs and labels as the network saw them, including noise that the run added.

    ValueError if the data have changed since the run was trained.
    """
    return judged_data(run)[0]


def judged_data(run: RunFolder) -> list[LabelledData]:
    """``training_data``, and the validation data if they are rows of the same source with given labels."""
    config = Config.from_dict({**run.settings, "test": "none"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # training has warned already
        task = make_task(config)
    is_part = config.validation_labels == "given" and config.validation_data is None
    parts = {"train": task.train, "validation": task.validation if is_part else None}
    found = {name: data for name, data in parts.items() if data is not None}
    facts = run.manifest.get("data", {})
    for name, data in found.items():
        before = facts.get(name) if isinstance(facts, dict) else None
        if before is not None and before != in_format_of(fingerprint(data), before):
            raise ValueError(
                f"the data of {run.folder} have changed since the run was trained: restore"
                f" {config.data}, or train again"
            )
    return list(found.values())
