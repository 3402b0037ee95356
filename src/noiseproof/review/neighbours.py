"""Nearest neighbours of a sample in the features of the network, and typical samples of each class."""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..memory import on_the_cpu
from ..train.batches import Views
from ..train.evaluate import predict_features
from .review_data import ReviewData

MAX_SEARCHED_SAMPLES = 10_000
"""Maximum number of samples that are searched, which takes a few seconds with a small network."""
NEAREST, TYPICAL = 4, 4


class Neighbours:
    """Neighbours by the features of the trained network, or by the inputs if it cannot be loaded."""

    def __init__(self, review_data: ReviewData) -> None:
        self.review_data = review_data
        self._lock = threading.Lock()

    @cached_property
    def typical(self) -> dict[int, list[int]]:
        """Numbers of the trusted samples of each class, the most trusted first."""
        review_data = self.review_data
        trusted = np.flatnonzero(~review_data.is_issue)
        trusted = trusted[np.lexsort((-review_data.score[trusted], review_data.chance[trusted]))]
        found: dict[int, list[int]] = {}
        for row in trusted.tolist():
            found.setdefault(int(review_data.given[row]), []).append(int(review_data.numbers[row]))
        return found

    def typical_of(self, label: int, excluded: int) -> list[int]:
        numbers = self.typical.get(label, [])[: TYPICAL + 1]
        return [number for number in numbers if number != excluded][:TYPICAL]

    def nearest(self, number: int) -> list[int]:
        """Numbers of the nearest samples; [] without inputs."""
        review_data = self.review_data
        if review_data.inputs is None or number not in review_data.inputs.row_of:
            return []
        with self._lock, on_the_cpu():
            own = self._scaled(self._features(np.array([review_data.inputs.row_of[number]])))
            closeness = (self._others @ own.T).squeeze(1)
            order = closeness.topk(min(NEAREST + 1, len(closeness))).indices
            found = review_data.inputs.data.index[torch.from_numpy(self._candidates)[order]].tolist()
        return [one for one in found if one != number][:NEAREST]

    @cached_property
    def _candidates(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if self.review_data.inputs is None:
            return np.empty(0, np.int64)
        known = np.flatnonzero(np.isin(self.review_data.inputs.data.index.numpy(), self.review_data.numbers))
        chosen = (
            np.linspace(0, len(known) - 1, min(len(known), MAX_SEARCHED_SAMPLES)).round().astype(np.int64)
        )
        found: np.ndarray[tuple[int], np.dtype[np.int64]] = known[np.unique(chosen)]
        return found

    @cached_property
    def _others(self) -> Tensor:
        features = self._features(self._candidates)
        self._mean, self._spread = features.mean(0), features.std(0, unbiased=False).clamp_min(1e-6)
        return self._scaled(features, fitted=True)

    def _scaled(self, features: Tensor, *, fitted: bool = False) -> Tensor:
        if not fitted:
            _ = self._others  # fits mean and spread
        return torch.nn.functional.normalize((features - self._mean) / self._spread)

    @cached_property
    def _model(self) -> torch.nn.Module | None:
        try:
            return None if self.review_data.trained is None else self.review_data.trained.load_model()
        except (OSError, ValueError, TypeError, ImportError):
            return None

    def _features(self, positions: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Tensor:
        data = self.review_data.inputs.data.subset(positions)  # type: ignore[union-attr]
        if self._model is not None and self.review_data.trained is not None:
            views = Views(self.review_data.trained.config, data.sample_shape)
            try:
                return predict_features(self._model, data, views.evaluation, device=torch.device("cpu"))
            except (ValueError, TypeError, RuntimeError):  # a network of the user without features
                del self.__dict__["_model"]
                self.__dict__["_model"] = None
        return data.batch(slice(None)).input.float().flatten(1)
