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

from .findings import Judgement
from .posterior import Posterior, agrees, class_probabilities, log_odds

KINDS = {"probabilities": 1, "cross_fit": 2}
"""Kinds of evidence and their numbers of rounds."""
MAX_DEVIATION = 5.0
"""Standardised features are clipped to this absolute value."""
SHARES = (0.1, 0.25, 0.5)
"""Shares of the most confident rows whose agreement with their labels is a feature."""


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


# Features: statistics of each row, of its class and of the whole data, without units ----------------


def features_of(rounds: Sequence[Posterior], label: np.ndarray) -> np.ndarray:
    """(N, F) features: those of each round, then those of the class sizes."""
    parts = [np.concatenate([_rows(one, label), _classes(one, label), _set(one, label)], 1) for one in rounds]
    return np.concatenate([*parts, _size(label, rounds[0].noisy.shape[1])], 1).astype(np.float32)


def _rows(one: Posterior, label: np.ndarray) -> np.ndarray:
    rows = np.arange(len(label))
    given = np.log(np.clip(one.noisy[rows, label], 1e-6, 1))
    others = one.noisy.copy()
    others[rows, label] = 0
    margin = np.clip(given - np.log(np.clip(others.max(1), 1e-6, 1)), -8, 8)
    true = log_odds(one.true, label)
    columns = [log_odds(one.noisy, label), true, margin, np.minimum(one.spread, 4), _rank(true, label)]
    return np.stack(columns, 1)


def _rank(value: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Rank in (0, 1) among the rows with the same label."""
    order = np.lexsort((value, label))
    counts = np.bincount(label)
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(label))
    rank[order] = (np.arange(len(label)) - start[label[order]] + 0.5) / counts[label[order]]
    return rank


def _classes(one: Posterior, label: np.ndarray) -> np.ndarray:
    """Features of the given class: P(given | true), mean probability and agreement."""
    counts = np.maximum(np.bincount(label, minlength=one.noisy.shape[1]), 1)
    rows = np.arange(len(label))

    def mean(value: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(label, value, minlength=len(counts)) / counts)

    given = mean(one.noisy[rows, label])
    right = mean(agrees(one.noisy, label))
    return np.stack([np.diag(one.transition)[label], given[label], right[label]], 1)


def _set(one: Posterior, label: np.ndarray) -> np.ndarray:
    share = np.bincount(label, minlength=one.noisy.shape[1]) / len(label)
    right, order = agrees(one.noisy, label), np.argsort(-one.noisy.max(1), kind="stable")
    facts = [
        right.mean(),
        (right.mean() - share.max()) / max(1 - share.max(), 1e-9),
        (np.diag(one.transition) * share).sum(),
        1 - one.true[np.arange(len(label)), label].mean(),
        *(right[order[: max(int(part * len(label)), 1)]].mean() for part in SHARES),
    ]
    return np.tile(np.clip(facts, -1, 1), (len(label), 1))


def _size(label: np.ndarray, classes: int) -> np.ndarray:
    share = np.bincount(label, minlength=classes) / len(label)
    of_class = np.log(np.clip(share[label] * classes, 0.01, 10))
    return np.column_stack([of_class, np.tile([np.log(min(classes, 60)), share.max()], (len(label), 1))])
