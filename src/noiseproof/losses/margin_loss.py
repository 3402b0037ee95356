"""Losses of the margin alone: a value, an emphasis, and nothing else to write."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..kernels import (
    RowFunction,
    attach,
    class_margins,
    margin_rows,
    of_margin,
    uses_kernels,
    values_can_be_checked,
)
from .base import Loss
from .compiled import compiled_rows
from .finite import check_logits_finite, check_margins
from .rows import Rows
from .supremum import Peak, find_peak


class MarginLoss(Loss):
    r"""A loss :math:`\ell(\Delta)`: implement ``value`` and ``emphasis`` :math:`= -d\ell/d\Delta \ge 0`.

    Its gradient is :math:`\text{emphasis}(\Delta)\cdot(\mathrm{softmax}_{j\ne y}(z) - e_y)` for every
    such loss, so the L1 norm of the logit gradient is twice the emphasis. Only logits get a gradient: a
    parameter of the loss itself is not learned.
    """

    def value(self, margin: Tensor) -> Tensor:
        """Elementwise value."""
        raise NotImplementedError(f"{type(self).__name__} must define value(margin)")

    def emphasis(self, margin: Tensor) -> Tensor:
        """Elementwise emphasis, never including class or sample weights."""
        raise NotImplementedError(
            f"{type(self).__name__} must define emphasis(margin), minus the derivative of its value"
        )

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        """Value and emphasis inside a batch of ``num_classes`` logits.

        ``mass`` says how much each margin counts, 1.0 if all count alike, for losses that look at the
        batch; None asks for the curve itself.
        """
        value, emphasis = self.value(margin), self.emphasis(margin)
        self._check_shape("value", value, margin)
        self._check_shape("emphasis", emphasis, margin)
        return value, emphasis

    def _check_shape(self, name: str, found: Tensor, margin: Tensor) -> None:
        if isinstance(found, Tensor) and isinstance(margin, Tensor) and found.shape != margin.shape:
            raise ValueError(
                f"{name} of {type(self).__name__} has shape {tuple(found.shape)} for margins of shape"
                f" {tuple(margin.shape)}: it must give a number for each"
            )

    def peak(self) -> Peak:
        """Supremum of the emphasis and the margin where it is reached."""
        return find_peak(self.emphasis, str(self))

    def short_way(self, logits: Tensor, target: Tensor) -> Tensor | None:
        found = super().short_way(logits, target)
        if found is None and self._is_common(logits, target):
            try:
                return self.hard_rows(Rows(logits, target, None, target.shape), mean=True)
            except (IndexError, RuntimeError):
                pass  # a target outside 0..C-1: ignored or wrong, the long way tells
        return found

    def _is_common(self, logits: Tensor, target: Tensor) -> bool:
        """The plain mean over (N, C) on a CPU, which small batches should reach in few steps."""
        return (
            values_can_be_checked(logits)
            and logits.dim() == 2
            and target.dtype == torch.int64
            and target.is_cpu
            and target.shape == logits.shape[:1]
            and self.reduction == "mean"
            and logits.is_floating_point()
            and logits.shape[0] > 0
            and logits.shape[1] > 1
            and not 0 <= self.ignore_index < logits.shape[1]
            and not uses_kernels(logits)
        )

    @property
    def kinks(self) -> tuple[float, ...]:
        """Margins where the emphasis jumps."""
        return ()

    def hard_rows(self, rows: Rows, mean: bool = False) -> Tensor:
        found = None if mean else compiled_rows(self, rows)
        if found is not None:
            return found

        def evaluate(margin: Tensor) -> tuple[Tensor, Tensor]:
            check_margins(margin, rows.logits, rows.target)
            mass = 1.0 if rows.keep is None else rows.keep
            return self.evaluate(margin, num_classes=rows.logits.shape[1], mass=mass)

        return margin_rows(rows.logits, rows.target, evaluate, rows.keep, mean)

    def row_function(self, num_classes: int, mass: Tensor | float) -> RowFunction:
        return of_margin(lambda margin: self.evaluate(margin, num_classes=num_classes, mass=mass))

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        check_logits_finite(logits)
        margins = torch.where(mass > 0, class_margins(logits), 0.0)
        return attach(margins, *self.evaluate(margins, num_classes=logits.shape[1], mass=mass))

    @staticmethod
    def from_emphasis(fn: Callable[..., Tensor], *, name: str | None = None, of: str = "p") -> MarginLoss:
        r"""A loss from its emphasis: ``fn(p, 1 - p)``, or ``fn(margin)`` with ``of="margin"``.

        The value is :math:`\int_\Delta^\infty` of the emphasis where that has faded by a margin of 60, to
        1e-9 of its largest, else :math:`-\int_0^\Delta`. With a ``name`` the loss is registered: it parses,
        prints and pickles.

        Example:
            >>> loss = MarginLoss.from_emphasis(lambda p, q: p * q)
            >>> loss(torch.tensor([[1.0, 1.0]]), torch.tensor([0]))
            tensor(0.5000)
        """
        from .custom import EmphasisLoss, make

        return make(EmphasisLoss, fn, of, name)

    @staticmethod
    def from_value(fn: Callable[..., Tensor], *, name: str | None = None, of: str = "p") -> MarginLoss:
        """A loss from its value: ``fn(p, 1 - p)``, or ``fn(margin)`` with ``of="margin"``.

        Example:
            >>> loss = MarginLoss.from_value(lambda p, q: 2 * q)
            >>> loss.emphasis(torch.tensor(0.0))
            tensor(0.5000)
        """
        from .custom import ValueLoss, make

        return make(ValueLoss, fn, of, name)
