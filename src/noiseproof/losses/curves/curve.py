r"""The emphasis curve of a loss: its peak, focus, spread and asymmetry, and its size at initialisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ..gr import GR
from ..margin_loss import MarginLoss
from ..registry import get
from ..wrappers import Scale
from .drawing import plot_curve
from .numerics import Peak, expected_margin, find_peak

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNDERFITS_BELOW = 0.10
"""A loss underfits below this share of its largest emphasis at initialisation (Curriculum Table 2)."""
MAY_UNDERFIT_BELOW = 0.20
TAU = 2.6
Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Curve:
    """The emphasis curve of a loss; ``num_classes`` is for ``scale`` and ``shift`` created without it."""

    loss: MarginLoss
    num_classes: int | None = None

    def emphasis(self, margin: Tensor) -> Tensor:
        return self.loss.evaluate(margin, num_classes=self.num_classes)[1]

    def value(self, margin: Tensor) -> Tensor:
        return self.loss.evaluate(margin, num_classes=self.num_classes)[0]

    @property
    def peak(self) -> float:
        """Supremum of the emphasis."""
        return self._peak.emphasis

    @property
    def focus(self) -> float:
        """The p that gets the largest emphasis; nan where all get the same."""
        return float(torch.sigmoid(torch.tensor(self._peak.margin, dtype=torch.float64, device="cpu")))

    @cached_property
    def spread(self) -> float:
        """Variance of the L1 weight (twice the emphasis) when p is uniform on [0, 1]."""
        margin, measure = _uniform_p(self.loss.kinks)
        weight = 2 * self.emphasis(margin)
        mean = float((weight * measure).sum())
        return float(((weight - mean) ** 2 * measure).sum())

    def initial(self, num_classes: int) -> float:
        """Emphasis at the expected margin of an untrained network."""
        start = torch.tensor(expected_margin(num_classes), dtype=torch.float64, device="cpu")
        return float(self.loss.evaluate(start, num_classes=self.num_classes or num_classes)[1])

    def initial_share(self, num_classes: int) -> float:
        """``initial`` as a fraction of ``peak``: below a tenth, expect underfitting."""
        return self.initial(num_classes) / self.peak

    @cached_property
    def asymmetry(self) -> float:
        """Asymmetry ratio, see :func:`asymmetry_ratio`: 1 is most robust, 0 guarantees nothing."""
        return asymmetry_ratio(self.emphasis, self.value)

    @property
    def is_symmetric(self) -> bool:
        """True if the losses of all classes add up to a constant, as for MAE."""
        return is_linear_in_p(self.emphasis)

    def plot(self, ax: Axes | None = None, x: str = "p") -> Axes:
        """Draw the emphasis against ``"p"`` or the ``"margin"``."""
        return plot_curve(self, ax=ax, x=x)

    @cached_property
    def _peak(self) -> Peak:
        if self.num_classes is None:
            return self.loss.peak()
        return find_peak(self.emphasis, str(self.loss))


def curve(loss: MarginLoss | str, num_classes: int | None = None) -> Curve:
    """The curve of a MarginLoss.

    Example:
        >>> mae = curve("mae")
        >>> round(mae.focus, 3), round(mae.peak, 3), round(mae.spread, 4), mae.is_symmetric
        (0.5, 0.5, 0.0889, True)
        >>> round(mae.initial_share(100), 4)
        0.0244
    """
    made = get(loss) if isinstance(loss, str) else loss
    if not isinstance(made, MarginLoss):
        raise TypeError(f"only a MarginLoss has a curve, a function of the margin alone; got {made}")
    found = Curve(made, num_classes)
    found.emphasis(torch.zeros((), dtype=torch.float64, device="cpu"))
    return found


def _uniform_p(kinks: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Margins and weights of a quadrature over uniform p, whose intervals end where the curve jumps."""
    inner = [k for k in kinks if math.isfinite(k)]
    ends = np.unique(np.concatenate([np.linspace(-60, 60, 961), inner]))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends)[:, None] / 2
    margin = torch.from_numpy((ends[:-1, None] + half + half * nodes).ravel())
    density = torch.exp(logsigmoid(margin) + logsigmoid(-margin))
    return margin, torch.from_numpy((half * weights).ravel()) * density


# Asymmetry ----------------------------------------------------------------------------------------


def log_slope(emphasis: Function, margin: Tensor) -> Tensor:
    r""":math:`\log(-d\ell/dp)` at the given margins."""
    return emphasis(margin).log() - logsigmoid(margin) - logsigmoid(-margin)


def is_linear_in_p(emphasis: Function) -> bool:
    """True if dl/dp is constant."""
    slope = log_slope(emphasis, torch.linspace(-30, 30, 601, dtype=torch.float64, device="cpu"))
    return bool(slope.isfinite().all()) and float(slope.max() - slope.min()) < 1e-6


def asymmetry_ratio(emphasis: Function, value: Function) -> float:
    r"""How much class confusion a loss tolerates, from its curve alone.

    The infimum over :math:`p_i, p_j \ge 0, p_i+p_j\le 1` of
    :math:`[\ell(p_i)-\ell(p_i+p_j)] / [\ell(0)-\ell(p_j)]`: a loss is robust as long as the most
    frequent wrong label is less frequent than this fraction of the right one (Zhou et al., ICML 2021). It is
    computed from a grid of finite steps and from the limit of small ones.
    """
    far = log_slope(emphasis, torch.tensor([-200.0, -100.0], dtype=torch.float64, device="cpu"))
    if far.isfinite().all() and float(far[0] - far[1]) > 1e-7:
        return 0.0
    smallest = _ratio_on_grid(value)
    if far.isfinite().all():
        slope = log_slope(emphasis, torch.linspace(-30, 30, 1201, dtype=torch.float64, device="cpu"))
        smallest = min(smallest, float((slope.min() - far[0]).exp()))
    return smallest


def _ratio_on_grid(value: Function, points: int = 201) -> float:
    p = torch.linspace(0, 1, points, dtype=torch.float64, device="cpu")[1:-1]
    ends = value(torch.tensor([-200.0, 200.0], dtype=torch.float64, device="cpu"))
    levels = torch.cat([ends[:1], value(torch.logit(p)), ends[1:]])
    gain = ends[0] - levels
    start = torch.arange(points).unsqueeze(1)
    step = torch.arange(1, points).unsqueeze(0)
    reached = (start + step).clamp(max=points - 1)
    ratio = (gain[reached] - gain[start]) / gain[step]
    allowed = (start + step < points) & (gain[step] > 1e-12 * gain[-1])
    return float(ratio[allowed].min()) if allowed.any() else float("nan")


# Advice -------------------------------------------------------------------------------------------


def advise(found: Curve, num_classes: int) -> list[str]:
    """Warnings about training with this loss on ``num_classes`` classes; empty if there are none.

    >>> print(advise(curve("mae"), 100)[0])
    with 100 classes this loss starts with 2.4% of its full emphasis: expect underfitting;
    try scale(mae, tau=2.6)
    """
    warnings = []
    share = found.initial_share(num_classes)
    # Division by a batch mean compensates a small emphasis.
    if share < MAY_UNDERFIT_BELOW and not found.loss.compares_rows():
        expectation = "expect underfitting" if share < UNDERFITS_BELOW else "it may underfit"
        warnings.append(
            f"with {num_classes} classes this loss starts with {100 * share:.1f}% of its full emphasis:"
            f" {expectation}{_remedy(found.loss, num_classes, share)}"
        )
    if isinstance(found.loss, GR) and found.loss.g == "exp" and found.loss.saturation is None:
        warnings.append(
            "without a saturation fitted samples keep their weight and the logits grow without"
            " bound: leave saturation at 17.33"
        )
    return warnings


def _remedy(loss: MarginLoss, num_classes: int, share: float) -> str:
    if isinstance(loss, Scale) or num_classes < 3:
        return "; try a smaller tau" if isinstance(loss, Scale) else ""
    scaled = Scale(loss, tau=TAU)
    if curve(scaled, num_classes).initial_share(num_classes) > share:
        return f"; try {scaled}"
    return ""
