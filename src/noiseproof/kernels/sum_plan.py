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
    from .triton.launch_join import Rows
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
        from .triton import launch_join

        values, saved, of = self._parts(batch)
        launch_join.join(batch, of, self.program, self.slots, values, saved[2], self.weight, mean)
        return values, saved

    def _parts(self, batch: Batch) -> tuple[Tensor, Saved, Rows]:
        """Values and derivatives of the loss over its blind one, and what the other loss is found from.

        The statistics are read once for both.
        """
        from .triton import launch, launch_join, launch_series

        blind, size, sum_z = self.blind, launch_join.SLOPE_ROWS, self.wanted is not None
        sums, rows = blind.sums(batch), (int(launch.State.SUM_Z), int(launch.State.CLASSES))
        if sums is None:
            values, saved = blind.with_slopes(batch, size, wanted=self.wanted)
        else:
            values, saved = launch_series.series_values(batch, blind.own, blind.classes, sums, size, sum_z)
            rows = launch_series.SUM_ROWS
        return values, saved, launch_join.Rows(saved[0], rows if sum_z else ())

    def second(self, batch: Batch, saved: Saved, upstream: Tensor, count: Tensor | None) -> Tensor:
        return self.blind.second(batch, saved, upstream, count)
