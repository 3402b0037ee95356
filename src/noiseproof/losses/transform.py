r"""Scale and shift: move the initial margin of a many-class network to where the loss is awake.

A robust loss has its largest emphasis near p = 1/2, but with K classes training starts at
:math:`\Delta \approx -\log K`, where it is nearly 0. Both transforms put the initial margin -M at -tau.
"""

from __future__ import annotations

from torch import Tensor
from typing_extensions import Unpack

from .base import Loss, Outer
from .initial import EXACT_BELOW, expected_margin
from .limits import number, whole
from .margin_loss import MarginLoss
from .supremum import Peak
from .wrapper import Wrapper

FARTHEST = 1e6
"""No margin is there: beyond it float32 cannot tell a margin from none."""
WITHIN = f"-{FARTHEST:g} <= by <= {FARTHEST:g}"


class UnknownClassesError(ValueError):
    """Asked for the curve of a scaled or shifted loss whose initial margin is not known yet."""


class _Transform(Wrapper):
    """How both find M: given, or from the number of classes, or from the logits in forward."""

    initial_margin: float | None
    num_classes: int | None

    def _store(self, num_classes: int | None, initial_margin: float | None) -> None:
        if num_classes is not None:
            num_classes = whole(self.name, "num_classes", num_classes, 2)
        self.num_classes = num_classes
        self.initial_margin = initial_margin
        for few in range(3, EXACT_BELOW):
            expected_margin(few)  # known before torch.compile traces forward
        if initial_margin is not None:
            rule = "initial_margin > 0, the size of the margin before training"
            self.initial_margin = number(self.name, "initial_margin", initial_margin, rule, lambda m: m > 0)

    def _tau(self, tau: float) -> float:
        return number(self.name, "tau", tau, f"tau > 0 and tau <= {FARTHEST:g}", lambda t: 0 < t <= FARTHEST)

    def _size(self, num_classes: int | None) -> float:
        if self.initial_margin is not None:
            return self.initial_margin
        classes = self.num_classes or num_classes
        if classes is None:
            raise UnknownClassesError(
                f"{self} depends on the number of classes: give num_classes or initial_margin"
            )
        if classes == 2:
            raise ValueError(f"{self}: with 2 classes the expected initial margin is 0; give initial_margin")
        return abs(expected_margin(classes))

    def _has_size(self) -> bool:
        """Whether the loss is the same for any number of classes."""
        return self.num_classes is not None or self.initial_margin is not None

    def peak(self) -> Peak:
        """The supremum is that of the inner loss; its place is known only with M."""
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
        :math:`\tau>0`; about 2 for clean labels, 2.6 to 4 with more noise (mae, 100 classes)
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
        self, margin: Tensor, *, num_classes: int | None = None, mass: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        factor = self.tau / self._size(num_classes)
        value, emphasis = self.base.evaluate(margin * factor, num_classes=num_classes, mass=mass)
        return value / factor, emphasis


class Shift(_Transform):
    r"""Move along the margin axis.

    Loss:
        :math:`\ell(\Delta + M - \tau)`, or :math:`\ell(\Delta + \varepsilon)` with ``by`` = epsilon
    Emphasis:
        :math:`w(\Delta + M - \tau)`, M as in :class:`Scale`
    Limits:
        give either ``tau`` > 0 (2.6 if neither is given) or ``by``
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
        self.by = None if by is None else number(self.name, "by", by, WITHIN, lambda b: abs(b) <= FARTHEST)
        tau = 2.6 if tau is None and by is None else tau
        self.tau = None if tau is None else self._tau(tau)
        self._store(num_classes, initial_margin)

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        return self.base.evaluate(margin + self._offset(num_classes), num_classes=num_classes, mass=mass)

    def _has_size(self) -> bool:
        return self.by is not None or super()._has_size()

    def _offset(self, num_classes: int | None) -> float:
        if self.by is not None:
            return self.by
        assert self.tau is not None
        return self._size(num_classes) - self.tau
