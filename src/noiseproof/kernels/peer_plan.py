"""The plan of the peer loss of a loss of the margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from .plan import Saved
from .programs.recorder import Program

if TYPE_CHECKING:
    from .triton.launch import Batch
    from .triton.launch_mean import Mean

OF_THE_MARGIN = (0, -1, -1, -1, -1)
"""Where the derivatives lie: there is one."""


class PeerPlan(NamedTuple):
    r"""Rows :math:`L(z_j,y_j)-\alpha L(z_j,y'_j)`, y' the labels rows are given as peers of others.

    Their sum is that of the peer loss, though not in the same order.
    """

    program: Program
    step: Tensor
    """Which permutations are drawn; one int64 number where the logits are."""
    begins: tuple[int, int]
    """Where the random numbers of both orders begin, see ``counter.draw``."""
    alpha: float
    counts: bool = False
    """Whether ``step`` is one more afterwards."""

    def first(self, batch: Batch, mean: Mean | None) -> tuple[Tensor, Saved]:
        from .triton import launch_peer

        drawn = launch_peer.permutation(batch, self.step, self.begins)
        counted = self.step, self.counts
        return launch_peer.pair_values(batch, drawn, counted, self.alpha, self.program, mean)

    def second(self, batch: Batch, saved: Saved, upstream: Tensor, count: Tensor | None) -> Tensor:
        from .triton import launch_pair

        partner, state, partials = saved
        first = launch_pair.Side(batch.target, state[:3], partials[:1])
        second = launch_pair.Side(partner, state[3:], partials[1:])
        above = launch_pair.Above(upstream, count, self.alpha)
        return launch_pair.pair_gradient(batch, first, second, OF_THE_MARGIN, above)
