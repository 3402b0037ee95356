"""Peer loss: subtract the loss of a random sample under the label of another, unrelated one."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..counter import KEY_SHIFT, SEED, draw, mix
from ..kernels import PeerPlan, kernels_may_run, uses_kernels
from ..kernels.inplace import withheld
from ..kernels.tracing import in_transform
from .base import Loss, Outer
from .fused import can_be_fused, recording_of
from .limits import number, whole
from .part import part_of
from .planned import planned
from .rows import Rows
from .statistics_loss import RowLoss
from .two_labels import of_two_labels

BothLabels = Callable[[Loss, Rows, Tensor], tuple[Tensor, Tensor] | None]
MOST_ROWS_SORTED_BY_COUNTING = 8192
"""A kernel compares all pairs of rows; of more torch sorts faster."""
OUTSIDE = -1
"""The number of the backward pass where there is none."""


class Peer(RowLoss):
    r"""Peer loss of another loss.

    Loss:
        :math:`L(z_i,y_i) - \alpha L(z_{a(i)},y_{b(i)})` with a, b independent permutations of the rows that
        are kept. They are a function of ``seed`` and the number of training batches seen (the buffer
        ``step``), the same on every device, and touch no global random state.
    Limits:
        :math:`\alpha\ge 0`; its expectation is L minus alpha times the blind loss of
        :class:`~noiseproof.losses.CR`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> from noiseproof import losses
        >>> round(float(Peer(losses.CE())(torch.zeros(2, 4), torch.tensor([0, 1]))), 6)
        0.0

    Reference:
        Liu & Guo, Peer Loss Functions: Learning from Noisy Labels without Knowing Noise Rates, ICML 2020
    """

    name = "peer"
    held = "step"
    draws = True
    defined_per_class = False
    step: Tensor

    def __init__(
        self, inner: Loss | str, *, alpha: float = 1.0, seed: int = 0, **outer: Unpack[Outer]
    ) -> None:
        super().__init__(**outer)
        self.base = part_of(self.name, inner)
        if not self.base.takes_class_targets:
            raise TypeError(f"peer takes a loss of class targets, got {self.base}")
        self.alpha = number(self.name, "alpha", alpha, "alpha >= 0", lambda a: a >= 0)
        self.seed = whole(self.name, "seed", seed, 0)
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    @property
    def inner(self) -> tuple[Loss, ...]:
        return (self.base,)

    def short_way(self, logits: Tensor, target: Tensor) -> Tensor | None:
        found = super().short_way(logits, target)
        if found is not None or not can_be_fused(logits, target):
            return found
        plan = self._plan(logits)
        if plan is None or self.reduction == "none" or len(target) > MOST_ROWS_SORTED_BY_COUNTING:
            return None
        found = planned(self, logits, target, plan, plan.step)
        if self.training and not plan.counts:
            self._count()
        return found

    def kept_rows(self, rows: Rows, kept: Tensor) -> Tensor:
        """Row by row its own loss less that as a peer of another, so the sum is that of the peer loss."""
        return self.base.hard_rows(rows) - self.alpha * self.base.hard_rows(rows._replace(target=kept))

    def _plan(self, logits: Tensor) -> PeerPlan | None:
        """How the kernels take the whole loss; None where one look at the logits is not enough."""
        classes = logits.shape[1]
        function = self.base.row_function(classes, 1.0)
        if function is None or function.wanted is not None:
            return None
        recording = recording_of(self.base, function, classes)
        if recording is None or recording.tables:
            return None
        begins, step = (beginning(self.seed, 1), beginning(self.seed, 2)), self.step.to(logits.device)
        return PeerPlan(recording.program, step, begins, self.alpha, self.training and step is self.step)

    def kernel_rows(self, rows: Rows) -> Tensor | None:
        there = uses_kernels(rows.logits) and kernels_may_run()
        return self._less_peers(rows, of_two_labels) if there else None

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        return self._less_peers(Rows(logits, target, keep, target.shape), lambda *_: None)

    def _less_peers(self, rows: Rows, both: BothLabels) -> Tensor:
        """``both`` may know the losses under two labels at once; else they are taken in turn."""
        a, b = self._permutations(rows.logits, rows.keep)
        others = rows._replace(target=partners(rows.target, a, b))
        found = both(self.base, rows, others.target)
        if found is None:
            with withheld():
                found = self.base.hard_rows(rows), self.base.hard_rows(others)
        own, peers = found
        return own - self.alpha * peers.gather(0, a)

    def soft_rows(self, logits: Tensor, soft: Tensor) -> Tensor:
        a, b = self._permutations(logits, None)
        return self.base.soft_rows(logits, soft) - self.alpha * self.base.soft_rows(logits[a], soft[b])

    def _count(self) -> None:
        if not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != OUTSIDE:
            raise RuntimeError(
                "peer would draw other peers when torch.utils.checkpoint computes it again: leave the"
                " loss out of what is checkpointed"
            )
        try:
            self.step.add_(1)
        except RuntimeError as problem:
            if not in_transform():
                raise
            raise RuntimeError(
                "peer counts its batches in training: inside torch.func call .eval() first, or give its"
                " step with torch.func.functional_call"
            ) from problem

    def _permutations(self, rows: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor]:
        step = self.step.to(rows.device, copy=True)
        if self.training:
            self._count()
        number_of_row = torch.arange(len(rows), device=step.device)
        rank = number_of_row if keep is None else (keep.long().cumsum(0) - 1).clamp_min(0)
        orders = []
        for side in (1, 2):
            key = draw(seed=self.seed, epoch=step, index=rank, stream=side) >> KEY_SHIFT
            key = key if keep is None else torch.where(keep, key, torch.iinfo(torch.int64).max)
            order = key.argsort(stable=True)[rank]
            orders.append(order if keep is None else torch.where(keep, order, number_of_row))
        return orders[0], orders[1]


@functools.lru_cache(1024)
def beginning(seed: int, stream: int) -> int:
    """Where the random numbers of row 0 and epoch 0 begin, before ``mix``."""
    return int(mix(torch.tensor(seed) * SEED + stream))


def partners(target: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The label that row a(i) is given when it serves as the peer of row i."""
    return torch.zeros_like(target).scatter(0, a, target[b])
