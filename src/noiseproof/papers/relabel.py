"""The second run of a pair: the same settings, on the labels the first network predicts."""

from __future__ import annotations

from pathlib import Path

from ..recipes.stage import save_array
from ..train import Config, Run

LABELS = "labels.npy"


def second_config(first: Config, folder: Path) -> Config:
    """Write the labels beside the folder of the second run, and say how to train on them.

    Reference:
        Gradient Rescaling, appendix E
    """
    run = Run(str(first.out))
    labels = folder.with_name(f"{folder.name}-{LABELS}").resolve()
    if not labels.is_file():
        predicted = run.outputs["train_probability"].argmax(1)
        index = run.record.index
        ordered = predicted.new_zeros(int(index.max()) + 1)
        ordered[index] = predicted
        save_array(labels, ordered)
    return first.replace(
        noise=f'human("{labels.as_posix()}")', exact_noise=False, out=folder.as_posix(), noise_seed=None
    )
