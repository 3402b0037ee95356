"""A small training for methods: made-up outputs instead of a network, everything a function of its place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ..data import Batch
from ..dynamics import Record
from ..losses import margin
from ..methods import Method, Mixed, Outputs, TrainingInfo, get

CLASSES, FEATURES, SAMPLES, BATCH = 4, 3, 12, 6
EPOCHS = (1, 2, 3, 30, 31, 40, 41, 60, 61, 70, 71, 200)
"""Visited in this order, so that the stages of a method with the usual starts are all there."""
RATE = 0.1


class Step(NamedTuple):
    """What one batch gave: the loss and its gradients, first those of logits and features."""

    loss: Tensor
    gradients: tuple[Tensor, ...]


class Trial:
    """Training of one method on made-up outputs; ``make`` gives it anew, prepared."""

    def __init__(self, spec: str | Method) -> None:
        self.spec = spec
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(0))
        self.index = 5 + 3 * order
        self.label = order % CLASSES

    def fresh(self) -> Method:
        return get(self.spec) if isinstance(self.spec, str) else copy.deepcopy(self.spec)

    def make(self, rows: Tensor | None = None) -> Method:
        """``rows``: the order in which the training data are shown."""
        rows = torch.arange(SAMPLES) if rows is None else rows
        method = self.fresh()
        method.prepare(
            TrainingInfo(
                self.label[rows], self.index[rows], CLASSES, FEATURES, EPOCHS[-1], seed=1, validation=SAMPLES
            )
        )
        return method.train()

    def batch(self, epoch: int, part: int, order: Tensor | None = None) -> Batch:
        """A half of the samples, shuffled by epoch; ``order`` is that of the rows in the batch."""
        rows = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch))
        rows = rows[part * BATCH : (part + 1) * BATCH]
        rows = rows if order is None else rows[order]
        return Batch(torch.zeros(BATCH, 1), self.label[rows], self.index[rows])

    def outputs(
        self, method: Method, batch: Batch, epoch: int, features: bool | None = None
    ) -> tuple[Outputs, ...]:
        """Logits and features of each sample are functions of its index, the epoch and the network."""
        wanted = method.needs_features if features is None else features
        found = []
        for network in range(method.networks):
            generator = torch.Generator().manual_seed(1000 * (epoch % (1 << 20)) + network)
            table = 3 * torch.randn(5 + 3 * SAMPLES, CLASSES + FEATURES, generator=generator)
            rows = table[batch.index]
            seen = rows[:, CLASSES:].clone() if wanted else None
            mix = mix_of(batch, rows[:, 1 : CLASSES + 1]) if method.needs_unmixed else None
            found.append(Outputs(rows[:, :CLASSES].clone(), seen, mix))
        return tuple(found)

    def run(
        self, method: Method, order: Tensor | None = None, done: int = 0, listed: Tensor | None = None
    ) -> Iterator[Step]:
        """All steps after the first ``done``; the method's own parameters learn by plain descent.

        ``listed`` is the order of the training data that ``make`` was given.

        ``epoch_end`` is called when the first step of the next epoch is requested, so a state taken in
        between is one that a checkpoint may hold.
        """
        step = 0
        for epoch in EPOCHS:
            for part in range(SAMPLES // BATCH):
                step += 1
                if step > done:
                    batch = self.batch(epoch, part, order)
                    yield take(method, self.outputs(method, batch, epoch), batch, epoch, rate=RATE)
            if step >= done:
                method.between_epochs(MadeUpEvaluation(self, method, epoch, listed), epoch)
                method.epoch_end(self.record(method, epoch))

    def record(self, method: Method, epoch: int) -> Record:
        batch = Batch(torch.zeros(SAMPLES, 1), self.label, self.index)
        logits = self.outputs(method, batch, epoch)[0].logits
        names = tuple(str(k) for k in range(CLASSES))
        seen = margin(logits, self.label).half().unsqueeze(0)
        return Record(self.index, self.label, None, names, seen, logits.argmax(1).int().unsqueeze(0))


def mix_of(batch: Batch, unmixed: Tensor) -> Mixed:
    """The partner of a sample is the one with the next index in the batch."""
    order = batch.index.argsort()
    partner = torch.empty_like(order)
    partner[order] = order.roll(-1)
    return Mixed(partner, 0.75, unmixed.clone())


class MadeUpEvaluation:
    """Outputs between two epochs; every second epoch is the best so far."""

    def __init__(self, trial: Trial, method: Method, epoch: int, listed: Tensor | None) -> None:
        self.trial, self.method, self.epoch = trial, method, epoch
        self.listed = torch.arange(SAMPLES) if listed is None else listed

    @property
    def is_best(self) -> bool:
        return self.epoch % 2 == 0

    @property
    def validation_accuracy(self) -> float:
        return 0.5 + 0.3 * self.epoch / EPOCHS[-1]

    def outputs(self, positions: Tensor | None = None, *, features: bool = False) -> tuple[Outputs, ...]:
        rows = self.listed if positions is None else self.listed[positions]
        batch = Batch(torch.zeros(len(rows), 1), self.trial.label[rows], self.trial.index[rows])
        return self.trial.outputs(self.method, batch, -self.epoch, features or self.method.needs_features)


def take(method: Method, outputs: tuple[Outputs, ...], batch: Batch, epoch: int, rate: float = 0.0) -> Step:
    """One step: loss, gradients, and a descent of the method's parameters."""
    leaves = [part for one in outputs for part in (one.logits, one.features) if part is not None]
    for leaf in leaves:
        leaf.requires_grad_()
    loss = method.loss(outputs, batch, epoch)
    wanted = [*leaves, *(p for p in method.parameters() if p.requires_grad)]
    gradients = torch.autograd.grad(loss, wanted, allow_unused=True, materialize_grads=True)
    with torch.no_grad():
        for parameter, gradient in zip(wanted[len(leaves) :], gradients[len(leaves) :], strict=True):
            parameter -= rate * gradient
    return Step(loss.detach(), gradients)


def same(found: Step, wanted: Step, equal: Callable[[Tensor, Tensor], bool] = torch.equal) -> bool:
    pairs = zip((found.loss, *found.gradients), (wanted.loss, *wanted.gradients), strict=True)
    return all(equal(*pair) for pair in pairs)
