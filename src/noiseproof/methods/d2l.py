"""D2L: reduces the weight of labels when the local dimensionality of the features grows."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..counter import draw
from ..data import Batch
from ..losses.checks import whole
from .base import Evaluation, Method, Outputs, TrainingInfo, not_prepared
from .probabilities import log_probabilities, take_labels

STREAM = 0x44324C
"""Makes the choice of samples independent of other draws with the same seed."""
CHUNK = 128
"""Number of samples in which neighbours are searched."""
EPSILON = 1e-8


def local_dimensionality(points: Tensor, k: int = 20) -> Tensor:
    r"""Local intrinsic dimensionality of every point, by maximum likelihood.

    :math:`-\left(\frac1k\sum_{i\le k}\log\frac{r_i}{r_k}\right)^{-1}` with :math:`r_i` the distance to its
    i-th neighbour among the points; with fewer than k neighbours, all of them. It is nan where all of these
    are the point itself, repeated.

    Shape:
        points (B, D), B >= 3; result (B,) float64
    Example:
        >>> line = torch.arange(4.0).unsqueeze(1)
        >>> local_dimensionality(line, k=3)[0]
        tensor(1.9946, dtype=torch.float64)

    Reference:
        Amsaleg et al., Estimating Local Intrinsic Dimensionality, KDD 2015
    """
    points = points.double()
    distance = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    distance = distance.fill_diagonal_(-1).sort(1).values[:, 1 : k + 1]
    return -1 / (distance / distance[:, -1:] + EPSILON).log().mean(1)


class D2L(Method):
    r"""Dimensionality-driven learning: labels get less weight when the dimensionality of the features grows.

    Loss:
        :math:`-\alpha\log p_y-(1-\alpha)\log\max_k p_k`, with :math:`\alpha=1` up to the turning point
    Turning point:
        After every epoch the mean local intrinsic dimensionality (LID) of the features of ``subset``
        training samples is estimated, from ``k`` neighbours each in groups of 128. From epoch
        ``start + window`` on, the first epoch whose LID exceeds the mean of the ``window`` epochs before by
        two of their standard deviations is the turning point. From there on, after every epoch,
        :math:`\alpha = \exp(-\frac{e}{E}\cdot\frac{LID_e}{\min_j LID_j})`, e of E epochs being done.
    Deviations:
        The paper restores the network from before the turning point. The public code loads the
        weights it wrote at the end of the same epoch, which changes nothing; here nothing is loaded.
        There the LID of the untrained network counts as well.
    Settings:
        public code: ``start=5`` on MNIST (50 epochs), 10 on CIFAR-10 (120), 20 on CIFAR-100 (200)
    Needs:
        no noise rate and no clean data; a network whose features can be read
    Shape:
        logits (B, C)
    Example:
        >>> method = D2L()
        >>> method.prepare(TrainingInfo(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=10, seed=0))
        >>> for lid in (9.0, 7.0, 6.0, 5.5, 5.1, 5.0, 5.2, 4.9, 5.1, 7.0):
        ...     method.update_alpha(lid)
        >>> method.turned, method.alpha
        (tensor(10), tensor(0.2397))

    Reference:
        Ma et al., Dimensionality-Driven Learning with Noisy Labels, ICML 2018; public code
        xingjunm/dimensionality-driven-learning
    """

    name = "d2l"
    same_every_epoch = True
    alpha: Tensor
    lids: Tensor
    done: Tensor
    turned: Tensor

    def __init__(self, *, k: int = 20, subset: int = 1280, start: int = 5, window: int = 5) -> None:
        super().__init__()
        self.k = whole(self.name, "k", k, 2, CHUNK - 1)
        self.subset = whole(self.name, "subset", subset, 3)
        self.start = whole(self.name, "start", start, 0)
        self.window = whole(self.name, "window", window, 2)
        self.info: TrainingInfo | None = None
        self.register_buffer("alpha", torch.tensor(1.0))
        self.register_buffer("done", torch.tensor(0))
        self.register_buffer("turned", torch.tensor(0))

    def prepare(self, info: TrainingInfo) -> None:
        self.info = info
        self.register_buffer("lids", torch.zeros(info.epochs, dtype=torch.float64))

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        decided = take_labels(log_p, log_p.argmax(1))
        return -torch.lerp(decided, take_labels(log_p, batch.label), self.alpha.to(log_p.dtype)).mean()

    def between_epochs(self, evaluation: Evaluation, epoch: int) -> None:
        if self.info is None:
            raise not_prepared(self)
        bits = draw(seed=self.info.seed, epoch=epoch, index=self.info.index, stream=STREAM)
        chosen = bits.argsort(stable=True)[: self.subset]
        features = evaluation.outputs(chosen, features=True)[0].features
        if features is None:
            raise ValueError("d2l: the outputs must have features, whose dimensionality is estimated")
        groups = [part for part in torch.split(features, CHUNK) if len(part) > 2]
        if not groups:
            raise ValueError(f"d2l needs at least 3 training samples, got {len(features)}")
        self.update_alpha(float(torch.cat([local_dimensionality(part, self.k) for part in groups]).nanmean()))

    def update_alpha(self, lid: float) -> None:
        """Set the turning point and alpha by the LID at the end of an epoch.

        For your own loop, if it does not call ``between_epochs``.
        """
        if self.info is None:
            raise not_prepared(self)
        done, epochs = int(self.done), self.info.epochs
        if done == epochs:
            return
        before = self.lids[:done].tolist()
        if not (math.isfinite(lid) and lid > 0):  # undefined if all features are equal
            lid = before[-1] if before else 1.0
        self.lids[done] = lid
        self.done += 1
        if not int(self.turned) and self._is_turning_point([*before, lid]):
            self.turned.fill_(done + 1)
        if int(self.turned):
            smallest = float(self.lids[: done + 1].min())
            self.alpha.fill_(math.exp(-(done + 1) / epochs * lid / smallest))

    def _is_turning_point(self, lids: list[float]) -> bool:
        if len(lids) < self.start + self.window or len(lids) <= self.window:
            return False
        window = torch.tensor(lids[-self.window - 1 : -1], dtype=torch.float64)
        return lids[-1] - float(window.mean()) > 2 * float(window.std(correction=0))
