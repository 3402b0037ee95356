r"""Reading a loss as a curve: whom it listens to, how sharply, and whether training can start."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .asymmetry import asymmetry_ratio, is_linear_in_p
from .base import Loss
from .initial import expected_margin
from .margin_loss import MarginLoss
from .supremum import Peak, find_peak

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Curve:
    """The emphasis curve of a loss; ``num_classes`` settles scale and shift where they left it open."""

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
        """The ratio that bounds how wrong labels may be: 1 always robust, 0 no guarantee."""
        return asymmetry_ratio(self.emphasis, self.value)

    @property
    def is_symmetric(self) -> bool:
        """True if the losses of all classes add up to a constant, as for MAE."""
        return is_linear_in_p(self.emphasis)

    def plot(self, ax: Axes | None = None, x: str = "p") -> Axes:
        """Draw the emphasis against ``"p"`` or the ``"margin"``."""
        from .drawing import plot_curve

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
    made = Loss.of(loss) if isinstance(loss, str) else loss
    if not isinstance(made, MarginLoss):
        raise TypeError(f"only a MarginLoss has a curve, a function of the margin alone; got {made}")
    found = Curve(made, num_classes)
    found.emphasis(torch.zeros((), dtype=torch.float64, device="cpu"))
    return found


def _uniform_p(kinks: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Margins and weights that integrate over uniform p, panels broken where the curve jumps."""
    inner = [k for k in kinks if math.isfinite(k)]
    ends = np.unique(np.concatenate([np.linspace(-60, 60, 961), inner]))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends)[:, None] / 2
    margin = torch.from_numpy((ends[:-1, None] + half + half * nodes).ravel())
    density = torch.exp(logsigmoid(margin) + logsigmoid(-margin))
    return margin, torch.from_numpy((half * weights).ravel()) * density
