"""The judge: from what witnesses say of a row to the probability that its label is wrong.

Witnesses that contradict a label are right more often on some data than on others: where classes overlap they
contradict right labels too. How often they are right can be read from the data (how sure the surest rows are,
how often those have the predicted label, how far the posterior is from the prediction), but no simple formula
gives it. So the judge learned it once from public data whose wrong labels are known (see
``benchmarks/learn_judge.py``): two small networks, stored as numbers in judge.npz, one for each kind of
evidence. Nothing in them depends on units, on class names or on the number of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from io import BytesIO
from typing import NamedTuple

import numpy as np

from .description import describe
from .findings import Judgement
from .posterior import Posterior
from .suggestion import class_probabilities

KINDS = {"probabilities": 1, "cross_fit": 2}
"""Kinds of evidence and their numbers of rounds."""
MOST = 5.0
"""Features further than so many deviations from what the judge has seen are taken for that far."""


class Layer(NamedTuple):
    """An affine map."""

    weight: np.ndarray
    bias: np.ndarray


class Network(NamedTuple):
    """Standardised features, two hidden layers, one log odds; several members are averaged."""

    mean: np.ndarray
    scale: np.ndarray
    members: tuple[tuple[Layer, ...], ...]

    def log_odds(self, features: np.ndarray) -> np.ndarray:
        found = np.clip((features - self.mean) / self.scale, -MOST, MOST)
        return np.asarray(np.mean([_run(layers, found) for layers in self.members], axis=0))


def judge(rounds: Sequence[Posterior], label: np.ndarray) -> Judgement:
    """How likely each label is wrong, by one or two rounds of models, and which class is likely instead."""
    (kind,) = (kind for kind, count in KINDS.items() if count == len(rounds))
    wrong = wrong_probability(kind, rounds, label)
    return Judgement(label, wrong, class_probabilities(rounds[-1].noisy, wrong, label))


def wrong_probability(kind: str, rounds: Sequence[Posterior], label: np.ndarray) -> np.ndarray:
    """(N,) probability that each label is wrong, given all evidence of one kind."""
    odds = network(kind).log_odds(describe(rounds, label))
    return np.asarray(1 / (1 + np.exp(-odds)))


@cache
def network(kind: str) -> Network:
    """The network for a kind of evidence, read from the package."""
    content = resources.files(__package__).joinpath("judge.npz").read_bytes()
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


def _run(layers: Sequence[Layer], found: np.ndarray) -> np.ndarray:
    for layer in layers[:-1]:
        found = found @ layer.weight.T + layer.bias
        found = found / (1 + np.exp(-found))
    return np.asarray((found @ layers[-1].weight.T + layers[-1].bias)[:, 0])
