"""The calibrator: maps out-of-sample predictions to the probability that a label is wrong.

How often a prediction that contradicts a label is right depends on the data: where classes overlap, models
contradict right labels too. Statistics of the data predict this rate (confidence of the most confident rows,
their agreement with the labels, distance between posterior and prediction), but not by a simple formula. The
calibrator was trained on public data whose wrong labels are known (``benchmarks/train_calibrator.py``): two
small networks, stored in calibrator.npz, one for each kind of evidence. Their features do not depend on
units, class names or the number of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from io import BytesIO
from typing import NamedTuple

import numpy as np

from .calibrator_features import features_of
from .findings import Judgement
from .posterior import Posterior, class_probabilities

KINDS = {"probabilities": 1, "cross_fit": 2}
"""Kinds of evidence and their numbers of rounds."""
MAX_DEVIATION = 5.0
"""Standardised features are clipped to this absolute value."""


class Layer(NamedTuple):
    """An affine map."""

    weight: np.ndarray
    bias: np.ndarray


class Network(NamedTuple):
    """Networks with two hidden layers on standardised features; their log odds are averaged."""

    mean: np.ndarray
    scale: np.ndarray
    members: tuple[tuple[Layer, ...], ...]

    def log_odds(self, features: np.ndarray) -> np.ndarray:
        inputs = np.clip((features - self.mean) / self.scale, -MAX_DEVIATION, MAX_DEVIATION)
        return np.asarray(np.mean([_forward(layers, inputs) for layers in self.members], axis=0))


def judge(rounds: Sequence[Posterior], label: np.ndarray) -> Judgement:
    """The probabilities that each label is wrong and of each true class, from one or two rounds of models."""
    (kind,) = (kind for kind, count in KINDS.items() if count == len(rounds))
    wrong = wrong_probability(kind, rounds, label)
    return Judgement(label, wrong, class_probabilities(rounds[-1].noisy, wrong, label))


def wrong_probability(kind: str, rounds: Sequence[Posterior], label: np.ndarray) -> np.ndarray:
    """(N,) calibrated probability that each label is wrong."""
    odds = network(kind).log_odds(features_of(rounds, label))
    return np.asarray(1 / (1 + np.exp(-odds)))


@cache
def network(kind: str) -> Network:
    """Load the network for a kind of evidence from the package."""
    content = resources.files(__package__).joinpath("calibrator.npz").read_bytes()
    with np.load(BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name].astype(np.float32) for name in file.files if name.startswith(f"{kind}/")}
    members = sorted({name.split("/")[1] for name in arrays if name.count("/") == 3})
    return Network(
        arrays[f"{kind}/mean"],
        arrays[f"{kind}/scale"],
        tuple(
            tuple(
                Layer(arrays[f"{kind}/{member}/{layer}/weight"], arrays[f"{kind}/{member}/{layer}/bias"])
                for layer in range(3)
            )
            for member in members
        ),
    )


def _forward(layers: Sequence[Layer], hidden: np.ndarray) -> np.ndarray:
    for layer in layers[:-1]:
        hidden = hidden @ layer.weight.T + layer.bias
        hidden = hidden / (1 + np.exp(-hidden))
    return np.asarray((hidden @ layers[-1].weight.T + layers[-1].bias)[:, 0])
