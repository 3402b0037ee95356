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

    def first(self, batch: Batch) -> tuple[Tensor, Saved]:
        from .triton import launch, launch_join

        values, saved = self.blind.with_slopes(batch, launch_join.SLOPE_ROWS)
        first = launch.statistics(batch, self.wanted, self.program)
        launch_join.join(first, self.slots, values, saved[2], self.weight)
        return values, saved

    def second(self, batch: Batch, saved: Saved, upstream: Tensor, count: Tensor | None) -> Tensor:
        return self.blind.second(batch, saved, upstream, count)
