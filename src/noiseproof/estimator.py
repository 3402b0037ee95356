"""``NoiseproofClassifier``: fit(X, y) for data whose labels cannot be trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from .atomic import write_bytes
from .features import Features, as_labels
from .files import read_bytes
from .labels.cross_fit import inputs_of
from .labels.findings import Judgement, frame
from .labels.folds import split
from .labels.judge import wrong_probability
from .labels.posterior import TRUST, posterior
from .labels.witnesses import WITNESSES, Inputs, cross_fit, fitted, out_of_fold

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]
