"""Unit maximum: every loss gets the same largest emphasis, so that learning rates compare."""

from __future__ import annotations

import contextlib
import math

from torch import Tensor
from typing_extensions import Unpack

from .base import Loss, Outer
from .supremum import Peak, find_peak
from .transform import UnknownClassesError
from .wrapper import Wrapper


class UnitMax(Wrapper):
    r"""A loss divided by the supremum of its emphasis, limits included.

    Loss:
        :math:`\ell(\Delta)/\sup w`
    Emphasis:
        :math:`w(\Delta)/\sup w \le 1`
    Example:
        >>> import torch
        >>> from noiseproof import losses
        >>> UnitMax(losses.MAE()).emphasis(torch.tensor(0.0))
        tensor(1.)

    Reference:
        A Curriculum View of Robust Loss Functions, Appendix B: applied to every loss of its tables
    """

    name = "unit_max"

    def __init__(self, inner: Loss | str, **outer: Unpack[Outer]) -> None:
        super().__init__(inner, **outer)
        self._suprema: dict[int | None, float] = {}
        with contextlib.suppress(UnknownClassesError):
            self._suprema[None] = self._positive(self.base.peak())

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        value, emphasis = self.base.evaluate(margin, num_classes=num_classes, mass=mass)
        supremum = self._supremum(num_classes)
        return value / supremum, emphasis / supremum

    def peak(self) -> Peak:
        return Peak(1.0, self.base.peak().margin)

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.base.kinks

    def _supremum(self, num_classes: int | None) -> float:
        key = None if None in self._suprema else num_classes
        if key not in self._suprema:
            self._suprema[key] = self._positive(
                find_peak(lambda m: self.base.evaluate(m, num_classes=num_classes)[1], str(self.base))
            )
        return self._suprema[key]

    def _positive(self, peak: Peak) -> float:
        if not (peak.emphasis > 0 and math.isfinite(peak.emphasis)):
            raise ValueError(f"unit_max: the emphasis of {self.base} has no positive maximum")
        return peak.emphasis
