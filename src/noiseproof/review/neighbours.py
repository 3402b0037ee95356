"""Samples that look alike to the network, and those its classes are sure of."""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..memory import on_the_cpu
from ..train.batches import Views
from ..train.evaluate import predict_features
from .subject import Subject

MOST = 10_000
"""Samples among which the nearest are looked for: a few seconds of a small network."""
NEAREST, TYPICAL = 4, 4


class Neighbours:
    """The nearest by the features of the trained network, or by the inputs where it cannot be asked."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._lock = threading.Lock()

    @cached_property
    def typical(self) -> dict[int, list[int]]:
        """Numbers of the most trusted samples of each class, the best first."""
        subject = self.subject
        trusted = np.flatnonzero(~subject.is_issue)
        trusted = trusted[np.lexsort((-subject.score[trusted], subject.chance[trusted]))]
        found: dict[int, list[int]] = {}
        for row in trusted.tolist():
            found.setdefault(int(subject.given[row]), []).append(int(subject.numbers[row]))
        return found

    def typical_of(self, label: int, but: int) -> list[int]:
        return [number for number in self.typical.get(label, [])[: TYPICAL + 1] if number != but][:TYPICAL]

    def nearest(self, number: int) -> list[int]:
        """Numbers of the nearest samples, [] where there are no inputs."""
        subject = self.subject
        if subject.inputs is None or number not in subject.inputs.place:
            return []
        with self._lock, on_the_cpu():
            own = self._scaled(self._features(np.array([subject.inputs.place[number]])))
            closeness = (self._others @ own.T).squeeze(1)
            order = closeness.topk(min(NEAREST + 1, len(closeness))).indices
            found = subject.inputs.data.index[torch.from_numpy(self._candidates)[order]].tolist()
        return [one for one in found if one != number][:NEAREST]

    @cached_property
    def _candidates(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if self.subject.inputs is None:
            return np.empty(0, np.int64)
        known = np.flatnonzero(np.isin(self.subject.inputs.data.index.numpy(), self.subject.numbers))
        chosen = np.linspace(0, len(known) - 1, min(len(known), MOST)).round().astype(np.int64)
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
            return None if self.subject.trained is None else self.subject.trained.load_model()
        except (OSError, ValueError, TypeError, ImportError):
            return None

    def _features(self, positions: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Tensor:
        data = self.subject.inputs.data.subset(positions)  # type: ignore[union-attr]
        if self._model is not None and self.subject.trained is not None:
            views = Views(self.subject.trained.config, data.sample_shape)
            try:
                return predict_features(self._model, data, views.evaluation, device=torch.device("cpu"))
            except (ValueError, TypeError, RuntimeError):  # a network of the user's own
                del self.__dict__["_model"]
                self.__dict__["_model"] = None
        return data.batch(slice(None)).input.float().flatten(1)
