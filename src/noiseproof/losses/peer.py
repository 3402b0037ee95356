"""Peer loss: subtract the loss of a random sample with the label of another random sample."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Unpack

from .. import kernels
from ..counter import KEY_SHIFT, draw
from ..kernels.linear.projection import Projection
from .base import Loss, Outer
from .checks import number, whole
from .registry import part_of
from .rows import Rows

NO_BACKWARD = -1
"""What torch returns as the id of the current backward pass if there is none."""


class Peer(Loss):
    r"""Peer loss of another loss.

    Loss:
        :math:`L(z_i,y_i) - \alpha L(z_{a(i)},y_{b(i)})` with a, b independent permutations of the rows that
        are not ignored. They are a function of ``seed`` and the number of training batches seen (the buffer
        ``step``), the same on every device, and do not use the global random state.
    Limits:
        :math:`\alpha\ge 0`; its expectation is L minus alpha times the expected loss
        under the prior, as in :class:`~noiseproof.losses.CR`
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
    defined_per_class = False
    why_no_row_function = "it compares rows"
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

    def hard_rows(self, rows: Rows) -> Tensor:
        """The loss of each row with its own label, minus alpha times that of its peer with a random label."""
        a, b = self._permutations(rows.target, rows.keep)
        partner = torch.zeros_like(rows.target).scatter(0, a, rows.target[b])
        with kernels.without_inplace():
            own = self.base.hard_rows(rows)
            peers = self.base.hard_rows(rows._replace(target=partner))
        return own - self.alpha * peers.gather(0, a)

    def soft_rows(self, logits: Tensor, soft: Tensor) -> Tensor:
        a, b = self._permutations(logits, None)
        return self.base.soft_rows(logits, soft) - self.alpha * self.base.soft_rows(logits[a], soft[b])

    def linear_rows(self, projection: Projection, rows: Rows) -> Tensor:
        a, b = self._permutations(rows.target, rows.keep)
        own = self.base.linear_rows(projection, rows)
        permuted = projection._replace(hidden=projection.hidden[a])
        return own - self.alpha * self.base.linear_rows(permuted, rows._replace(target=rows.target[b]))

    def _permutations(self, rows: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor]:
        step = self.step.to(rows.device, copy=True)
        if self.training:
            self._count()
        number_of_row = torch.arange(len(rows), device=step.device)
        rank = number_of_row if keep is None else (keep.long().cumsum(0) - 1).clamp_min(0)
        orders = []
        for stream in (1, 2):
            key = draw(seed=self.seed, epoch=step, index=rank, stream=stream) >> KEY_SHIFT
            key = key if keep is None else torch.where(keep, key, torch.iinfo(torch.int64).max)
            order = key.argsort(stable=True)[rank]
            orders.append(order if keep is None else torch.where(keep, order, number_of_row))
        return orders[0], orders[1]

    def _count(self) -> None:
        if not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != NO_BACKWARD:
            raise RuntimeError(
                "peer would draw other permutations when torch.utils.checkpoint computes it again: call the"
                " loss outside the checkpointed function"
            )
        try:
            self.step.add_(1)
        except RuntimeError as problem:
            if not kernels.in_transform():
                raise
            raise RuntimeError(
                "peer counts training batches in its buffer step: inside torch.func call .eval() first, or"
                " pass step with torch.func.functional_call"
            ) from problem
