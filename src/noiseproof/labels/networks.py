"""Networks as witnesses: one is trained for each fold and predicts the rows it has not seen."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..data import LabelledData
from ..train import Config, fit
from .folds import Split

EPOCHS = 30


def network_probabilities(
    data: LabelledData,
    model: str,
    splits: Sequence[Split],
    *,
    seed: int = 0,
    told: Callable[[str, int], None] = lambda name, fold: None,
    epochs: int = EPOCHS,
) -> np.ndarray:
    """(N, C) out-of-sample probabilities of a network by its spec, such as "cnn8" or "resnet20"."""
    found = np.zeros((len(data), data.num_classes), dtype=np.float32)
    with tempfile.TemporaryDirectory(prefix="noiseproof-folds-") as folder:
        for number, (fitted, predicted) in enumerate(splits):
            told(model, number)
            out = str(Path(folder, str(number)))
            config = Config(model=model, loss="ce", epochs=epochs, seed=seed, out=out)
            run = fit(config, data=data.subset(fitted))
            found[predicted] = run.predict(data.subset(predicted)).numpy()
    return found
