"""Cross-fit networks: one network is trained per fold and predicts the rows of the fold.

On a GPU several networks are trained at the same time in one process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from ..data import LabelledData
from ..train import Config
from ..train.comparison.streams import fit_each
from .folds import Split

STEPS, MIN_EPOCHS, MAX_EPOCHS = 3000, 30, 500
VALIDATION = 0.1
"""Share of the training rows held out to select the epoch, before wrong labels are memorised."""


def default_epochs(rows: int) -> int:
    """The number of epochs of 3,000 steps, at least 30 and at most 500.

    Example:
        >>> default_epochs(1000), default_epochs(50_000)
        (384, 30)
    """
    return min(max(STEPS * Config().batch_size // rows, MIN_EPOCHS), MAX_EPOCHS)


def as_inputs(dense: np.ndarray, shape: tuple[int, ...]) -> torch.Tensor:
    """Vectors unchanged, images as (N, C, H, W); ``shape`` is (H, W), (C, H, W) or (H, W, C)."""
    rows = torch.from_numpy(np.ascontiguousarray(dense, np.float32))
    if len(shape) not in (2, 3) or rows.shape[1] != int(np.prod(shape)):
        return rows
    images = rows.reshape(len(rows), *shape)
    if len(shape) == 2:
        return images.unsqueeze(1)
    channels_first = shape[0] in (1, 3, 4) and shape[2] not in (1, 3, 4)
    return images if channels_first else images.permute(0, 3, 1, 2).contiguous()


def network_probabilities(
    data: LabelledData,
    model: str,
    splits: Sequence[Split],
    *,
    seed: int = 0,
    on_fit: Callable[[str, int], None] = lambda name, fold: None,
) -> np.ndarray:
    """(N, C) out-of-sample probabilities of a network by its spec, such as "cnn8" or "resnet20"."""
    found = np.zeros((len(data), data.num_classes), dtype=np.float32)
    with tempfile.TemporaryDirectory(prefix="noiseproof-folds-") as folder:
        runs = []
        for number, (fitted, _) in enumerate(splits):
            config = Config(
                model=model,
                loss="ce",
                epochs=default_epochs(len(fitted)),
                lr=0.05,
                validation=VALIDATION,
                seed=seed,
                out=str(Path(folder, str(number))),
            )
            runs.append((config, data.subset(fitted)))
        for (_, predicted), run in zip(splits, fit_each(runs, partial(on_fit, model)), strict=True):
            found[predicted] = run.predict(data.subset(predicted), which="best").numpy()
    return found
