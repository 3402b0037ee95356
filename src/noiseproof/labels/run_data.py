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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # training has warned already
        found = make_task(Config.from_dict({**run.settings, "test": "none"})).train
    facts = run.manifest.get("data", {})
    before = facts.get("train") if isinstance(facts, dict) else None
    if before is not None and before != in_format_of(fingerprint(found), before):
        raise ValueError("they have changed since the run was trained")
    return found
