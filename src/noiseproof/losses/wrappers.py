r"""Losses built from a MarginLoss: its margin axis scaled or shifted, or divided by its largest emphasis.

A robust loss has its largest emphasis near p = 1/2, but with K classes training starts at
:math:`\Delta \approx -\log K`, where it is nearly 0. Scale and shift put the initial margin -M at -tau.
"""

from __future__ import annotations

import contextlib
import math

from torch import Tensor
from typing_extensions import Unpack

from ..kernels import Mass
from .base import Loss, Outer
from .checks import number, whole
from .curves.numerics import EXACT_BELOW, Peak, expected_margin, find_peak
from .margin_loss import MarginLoss
from .registry import part_of

MAX_SHIFT = 1e6
"""Upper bound of a shift and of tau: float32 cannot resolve larger margins."""
WITHIN = f"-{MAX_SHIFT:g} <= by <= {MAX_SHIFT:g}"


class Wrapper(MarginLoss):
    """A MarginLoss built from another one: a subclass implements ``evaluate`` with ``self.base``."""

    base: MarginLoss

    def __init__(self, inner: Loss | str, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.base = margin_loss_of(inner, self.name)

    @property
    def inner(self) -> tuple[Loss, ...]:
        return (self.base,)

    def value(self, margin: Tensor) -> Tensor:
        return self.evaluate(margin)[0]

    def emphasis(self, margin: Tensor) -> Tensor:
        return self.evaluate(margin)[1]


def margin_loss_of(inner: object, wrapper: str) -> MarginLoss:
    """The inner loss; TypeError if it is not a function of the margin."""
    loss = part_of(wrapper, inner) if isinstance(inner, (Loss, str)) else inner
    if not isinstance(loss, MarginLoss):
        raise TypeError(f"{wrapper} takes a MarginLoss (a function of the margin alone), got {loss}")
    return loss


class UnknownClassesError(ValueError):
    """The curve of a scaled or shifted loss needs the number of classes, which is not known."""


class _Transform(Wrapper):
    """Base of Scale and Shift; M is given, or computed from the number of classes or from the logits.

    With two classes the expected margin is 0, so there is nothing to correct: without ``initial_margin`` the
    inner loss is left as it is.
    """

    initial_margin: float | None
    num_classes: int | None

    def _store(self, num_classes: int | None, initial_margin: float | None) -> None:
        if num_classes is not None:
            num_classes = whole(self.name, "num_classes", num_classes, 2)
        self.num_classes = num_classes
        self.initial_margin = initial_margin
        for few in range(3, EXACT_BELOW):
            expected_margin(few)  # computed before torch.compile traces forward
        if initial_margin is not None:
            rule = "initial_margin > 0, the size of the margin before training"
            self.initial_margin = number(self.name, "initial_margin", initial_margin, rule, lambda m: m > 0)

    def _tau(self, tau: float) -> float:
        rule = f"tau > 0 and tau <= {MAX_SHIFT:g}"
        return number(self.name, "tau", tau, rule, lambda t: 0 < t <= MAX_SHIFT)

    def _size(self, num_classes: int | None) -> float:
        """The number M, 0 for two classes."""
        if self.initial_margin is not None:
            return self.initial_margin
        classes = self.num_classes or num_classes
        if classes is None:
            raise UnknownClassesError(
                f"{self} depends on the number of classes: give num_classes or initial_margin"
            )
        return abs(expected_margin(classes))

    def _has_size(self) -> bool:
        """Whether the loss is the same for any number of classes."""
        return self.num_classes is not None or self.initial_margin is not None

    def peak(self) -> Peak:
        """The supremum is that of the inner loss; its margin is known only with M."""
        if not self._has_size():
            return Peak(self.base.peak().emphasis, float("nan"))
        return MarginLoss.peak(self)


class Scale(_Transform):
    r"""Stretch the margin axis.

    Loss:
        :math:`\frac{M}{\tau}\,\ell(\Delta\tau/M)`
    Emphasis:
        :math:`w(\Delta\tau/M)` exactly, with M = ``initial_margin`` or
        :math:`|E[\Delta]|` of ``num_classes``, or of the logits' classes
    Limits:
        :math:`\tau>0`; about 2 for clean labels, 2.6 to 4 with more noise (mae, 100 classes). Two classes
        start at a margin of 0: the loss is not scaled then, unless ``initial_margin`` is given.
    Example:
        >>> import torch
        >>> Scale("mae", tau=2.0, num_classes=100).emphasis(torch.tensor(-5.0864))
        tensor(0.2100)

    Reference:
        A Curriculum View of Robust Loss Functions, section 4
    """

    name = "scale"

    def __init__(
        self,
        inner: Loss | str,
        tau: float = 2.6,
        num_classes: int | None = None,
        initial_margin: float | None = None,
        **outer: Unpack[Outer],
    ) -> None:
        super().__init__(inner, **outer)
        self.tau = self._tau(tau)
        self._store(num_classes, initial_margin)

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Mass | None = None
    ) -> tuple[Tensor, Tensor]:
        size = self._size(num_classes)
        factor = self.tau / size if size > 0 else 1.0
        value, emphasis = self.base.evaluate(margin * factor, num_classes=num_classes, mass=mass)
        return value / factor, emphasis


class Shift(_Transform):
    r"""Move along the margin axis.

    Loss:
        :math:`\ell(\Delta + M - \tau)`, or :math:`\ell(\Delta + \varepsilon)` with ``by`` = epsilon
    Emphasis:
        :math:`w(\Delta + M - \tau)`, M as in :class:`Scale`
    Limits:
        give either ``tau`` > 0 (2.6 if neither is given) or ``by``; two classes as in :class:`Scale`
    Example:
        >>> import torch
        >>> Shift("mae", tau=2.0, num_classes=100).emphasis(torch.tensor(-5.0864))
        tensor(0.2100)

    Reference:
        A Curriculum View of Robust Loss Functions, section 4; ``by`` is the logit bias of Staats et al.,
        arXiv 2306.05497
    """

    name = "shift"

    def __init__(
        self,
        inner: Loss | str,
        tau: float | None = None,
        num_classes: int | None = None,
        initial_margin: float | None = None,
        by: float | None = None,
        **outer: Unpack[Outer],
    ) -> None:
        super().__init__(inner, **outer)
        if by is not None and not (tau is num_classes is initial_margin is None):
            raise ValueError("shift: give either by, or tau with num_classes or initial_margin")
        self.by = None if by is None else number(self.name, "by", by, WITHIN, lambda b: abs(b) <= MAX_SHIFT)
        tau = 2.6 if tau is None and by is None else tau
        self.tau = None if tau is None else self._tau(tau)
        self._store(num_classes, initial_margin)

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Mass | None = None
    ) -> tuple[Tensor, Tensor]:
        return self.base.evaluate(margin + self._offset(num_classes), num_classes=num_classes, mass=mass)

    def _has_size(self) -> bool:
        return self.by is not None or super()._has_size()

    def _offset(self, num_classes: int | None) -> float:
        if self.by is not None:
            return self.by
        assert self.tau is not None
        size = self._size(num_classes)
        return size - self.tau if size > 0 else 0.0


class UnitMax(Wrapper):
    r"""A loss divided by the supremum of its emphasis, limits included.

    Loss:
        :math:`\ell(\Delta)/\sup w`
    Emphasis:
        :math:`w(\Delta)/\sup w \le 1`
    Limits:
        a loss that is normalised over the batch is divided by its largest emphasis instead of the batch
        mean
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
        self, margin: Tensor, *, num_classes: int | None = None, mass: Mass | None = None
    ) -> tuple[Tensor, Tensor]:
        value, emphasis = self.base.evaluate(margin, num_classes=num_classes)
        supremum = self._supremum(num_classes)
        return value / supremum, emphasis / supremum

    def compares_rows(self) -> bool:
        return self.runs_user_code and super().compares_rows()

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
