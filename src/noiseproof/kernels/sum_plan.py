"""The plan of a sum of losses of row statistics and one that is divided by its blind loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from .every_class import OwnAndBlind
from .plan import Saved
from .programs.recorder import Program
from .reference import Wanted

if TYPE_CHECKING:
    from .triton.launch import Batch
    from .triton.launch_mean import Mean


class SumPlan(NamedTuple):
    """One gradient pass for both, which share the exponentials of a row."""

    program: Program
    """Value and derivatives of the losses of row statistics."""
    slots: tuple[int, ...]
    """Which derivatives these are."""
    wanted: Wanted | None
    """Neither squares nor products."""
    blind: OwnAndBlind
    """Divided by the blind loss."""
    weight: float
    """What that is multiplied with."""

    def first(self, batch: Batch, mean: Mean | None) -> tuple[Tensor, Saved]:
        return self.blind.joined(batch, mean, self)

    def second(self, batch: Batch, saved: Saved, upstream: Tensor, count: Tensor | None) -> Tensor:
        return self.blind.second(batch, saved, upstream, count)
