"""Plans of losses that count every class of a row: less the blind loss, or over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from .plan import Saved
from .programs.powers import powers_of
from .programs.recorder import Program
from .programs.series import Sums, sums_of

if TYPE_CHECKING:
    from .sum_plan import SumPlan
    from .triton.launch import Batch
    from .triton.launch_mean import Mean


class WithoutBlindCE(NamedTuple):
    """Cross entropy less ``beta`` times its blind part, which is linear in the logits up to logsumexp."""

    prior: Tensor | None
    """(C,) in float32, None for the label frequencies of the batch."""
    beta: float

    def first(self, batch: Batch, mean: Mean | None) -> tuple[Tensor, Saved]:
        from .triton import launch_prior

        prior = self.prior
        if prior is None:
            prior = launch_prior.counted(batch, launch_prior.is_narrow(batch))
        values, state = launch_prior.prior_values(batch, prior, self.beta, mean)
        return values, (prior, state)

    def second(self, batch: Batch, saved: Saved, upstream: Tensor, count: Tensor | None) -> Tensor:
        from .triton import launch_prior

        prior, state = saved
        return launch_prior.prior_gradient(batch, prior, self.beta, state, upstream, count)


class OwnAndBlind(NamedTuple):
    r"""A loss of the margin less :math:`\beta\sum_k\pi_k\ell(\Delta_k)`, or over the sum without prior."""

    own: Program
    """The loss of the label: value and derivative with respect to the margin."""
    classes: Program
    """The same for every class, from ``record_classes``."""
    prior: Tensor | None
    """As above; not read where ``beta`` is None."""
    beta: float | None
    """None divides by the blind loss."""

    def first(self, batch: Batch, mean: Mean | None) -> tuple[Tensor, Saved]:
        return self.joined(batch, mean, None)

    def joined(self, batch: Batch, mean: Mean | None, join: SumPlan | None) -> tuple[Tensor, Saved]:
        """``first``, of the sum with another loss if there is one: only where ``beta`` is None."""
        from .triton import launch, launch_blind, launch_join, launch_powers, launch_prior, launch_series

        sums, powers = self.sums(batch), powers_of(self.classes)
        if sums is not None:
            return launch_series.series_values(batch, self.own, self.classes, sums, mean, join)
        prior = self.prior
        if prior is None and self.beta is not None:
            prior = launch_prior.counted(batch, powers is not None and launch_prior.is_narrow(batch))
        if powers is not None and self.beta is not None and prior is not None:
            values, state = launch_powers.powers_values(batch, self.own, powers, prior, self.beta, mean)
            return values, (state, prior)
        first = launch.statistics(batch, join and join.wanted, self.own, of_margin=True)
        slopes = first.values.new_empty((launch_join.slope_rows(join), len(first.values)))
        ending = launch_blind.Ending(first.values, first.partials, slopes, self.beta)
        found = launch_blind.blind_of(batch, prior, self.classes, first.state, ending, mean, join)
        return first.values, (*found, slopes, *([] if prior is None else [prior]))

    def second(self, batch: Batch, saved: Saved, upstream: Tensor, count: Tensor | None) -> Tensor:
        from .triton import launch_blind, launch_powers, launch_series

        sums, powers = self.sums(batch), powers_of(self.classes)
        if sums is not None:
            return launch_series.series_gradient(batch, self.classes, sums, saved, upstream, count)
        if powers is not None and self.beta is not None:
            state, prior = saved
            return launch_powers.powers_gradient(batch, powers, prior, self.beta, state, upstream, count)
        state, found, slopes, *rest = saved
        given = rest[0] if rest else None
        return launch_blind.blind_gradient(
            batch, given, self.classes, (state, found), slopes, upstream, count
        )

    def sums(self, batch: Batch) -> Sums | None:
        """How one pass is enough; None where it is not."""
        from .triton.launch_series import FEWEST_CLASSES

        few = batch.logits.shape[1] < FEWEST_CLASSES
        return None if few or self.beta is not None or self.prior is not None else sums_of(self.classes)
