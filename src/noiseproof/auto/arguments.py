"""Check and convert the arguments of ``NoiseproofClassifier``."""

from __future__ import annotations

from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .. import losses
from ..labels.cross_fit_models import CROSS_FIT_MODELS


def check_loss(loss: str, model: object) -> None:
    """ValueError if the loss is not for classes, or if ``model`` is not a network."""
    if not losses.get(loss).takes_class_targets:
        raise ValueError(f"loss={loss!r} is not for classes: choose another one, such as gce")
    if isinstance(model, str) and model in CROSS_FIT_MODELS:
        raise ValueError(
            f"loss={loss!r} needs a network, but model={model!r} is not one: leave out model=, or give a"
            " network such as mlp"
        )


def check_accepts_weights(estimator: Any) -> None:
    known = signature(estimator.fit).parameters
    if "sample_weight" not in known and all(one.kind != one.VAR_KEYWORD for one in known.values()):
        raise ValueError(f"estimator={estimator!r} does not accept sample_weight: leave it out")


def class_array(classes: list[Any]) -> np.ndarray:
    """Classes as an array; of dtype object if they mix text and numbers, so that 1 does not become "1"."""
    if all(type(name) is int for name in classes) and max(classes) > np.iinfo(np.int64).max:
        # numpy makes floats of large and small numbers
        return np.asarray(classes, dtype=np.uint64 if max(classes) < 2**64 and min(classes) >= 0 else object)
    kinds = {isinstance(name, str) for name in classes}
    return np.asarray(classes, dtype=object if len(kinds) > 1 else None)


def seed_of(random_state: Any) -> int:
    """An int that is drawn from a generator, or for None at random."""
    if isinstance(random_state, Integral):
        if not 0 <= (seed := int(random_state)) < 2**32:
            raise ValueError(f"random_state={seed} is out of range: 0 <= random_state < 2**32")
        return seed
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def sample_weights(sample_weight: Any, count: int) -> np.ndarray | None:
    """The weights as an array (count,); ValueError if they are not finite, negative or all 0."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"sample_weight={sample_weight!r:.80} must be one number per row") from None
    if weight.shape != (count,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(count,)}: one weight per row")
    invalid = ~np.isfinite(weight) | (weight < 0)
    if invalid.any():
        row = int(invalid.argmax())
        raise ValueError(f"sample_weight[{row}] = {weight[row]} must be finite and not negative")
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number: all are 0")
    return weight
