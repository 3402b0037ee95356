r"""Numerical methods for curves: the largest emphasis, its integral, and the margin before training."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...kernels.recorder import Recorded

# The largest emphasis -----------------------------------------------------------------------------

FAR = 1e4
"""The limits at plus and minus infinity are evaluated at margins of this size."""


class Peak(NamedTuple):
    """The largest emphasis and where it is."""

    emphasis: float
    margin: float
    """-inf or inf where the supremum is a limit, nan where the emphasis is constant."""


def find_peak(emphasis: Callable[[Tensor], Tensor], name: str) -> Peak:
    """Search a grid that is fine near 0 and includes both limits, then refine around its maximum."""
    reach = torch.asinh(torch.tensor(FAR, dtype=torch.float64, device="cpu"))
    grid = torch.sinh(torch.linspace(-1, 1, 8001, dtype=torch.float64, device="cpu") * reach)
    curve = emphasis(grid)
    if not bool(curve.isfinite().all()):
        where = float(grid[int((~curve.isfinite()).nonzero()[0])])
        raise ValueError(f"{name}: the emphasis is not finite at margin {where:.6g}")
    left = curve[:4001]
    if float(curve.max() - left.min()) <= 1e-12 * float(curve.max()):
        return Peak(float(curve.max()), float("nan"))
    best = int(curve.argmax())
    if best in (0, len(grid) - 1):
        return Peak(_limit(emphasis, float(grid[best]), name), float(torch.sign(grid[best])) * torch.inf)
    return _refine(emphasis, float(grid[best - 1]), float(grid[best + 1]))


def _limit(emphasis: Callable[[Tensor], Tensor], end: float, name: str) -> float:
    half, whole = emphasis(torch.tensor([end / 2, end], dtype=torch.float64, device="cpu")).tolist()
    if whole > half * (1 + 1e-6):
        raise ValueError(f"{name}: the emphasis grows without bound, it has no maximum")
    return float(whole)


def _refine(emphasis: Callable[[Tensor], Tensor], low: float, high: float) -> Peak:
    for _ in range(8):
        fine = torch.linspace(low, high, 101, dtype=torch.float64, device="cpu")
        curve = emphasis(fine)
        best = int(curve.argmax())
        low, high = float(fine[max(best - 1, 0)]), float(fine[min(best + 1, 100)])
    return Peak(float(curve[best]), float(fine[best]))


# The value of a loss that is defined by its emphasis ----------------------------------------------

CELL_WIDTH = 1 / 64
MAX_CELLS = 1 << 16
MAX_POSITION = 1e30
"""Positions are clamped to this: beyond it 0 times infinity would be nan."""


class IntegralTable:
    r""":math:`V(\Delta)=\int_\Delta^{anchor} f`, exact to about 1e-9 where f is smooth.

    Cells are counted from the anchor, so that V keeps its relative precision where it tends to 0.
    Below ``low`` and above ``high`` f is taken as constant, above as 0 with ``ends=True``; the table
    itself is built once in float64.

    Example:
        >>> table = IntegralTable(lambda m: torch.sigmoid(-m), low=-40.0, high=40.0, anchor=40.0)
        >>> table(torch.tensor(0.0))
        tensor(0.6931)
    """

    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        *,
        low: float,
        high: float,
        anchor: float,
        ends: bool = False,
    ) -> None:
        width = max(CELL_WIDTH, (high - low) / MAX_CELLS)
        right, left = (math.ceil(span / width) for span in (high - anchor, anchor - low))
        knots = anchor - width * torch.arange(-right, left + 1, dtype=torch.float64, device="cpu")
        self._table = _cubics(function, knots, width, right, ends)
        self._copies: dict[tuple[torch.device, torch.dtype], Tensor] = {}
        self.per_margin = 1 / width
        self.offset = anchor / width + right + 1
        self._single = float(np.float32(self.offset))

    def __call__(self, margin: Tensor) -> Tensor:
        if isinstance(margin, Recorded):
            return self._recorded(margin)  # type: ignore[return-value]
        position = (self.offset - self.per_margin * margin).clamp(-MAX_POSITION, MAX_POSITION)
        cell = position.detach().clamp(0, len(self._table) - 1).nan_to_num(0.0).long()
        within = position - cell
        rows = self._on(margin).index_select(0, cell.reshape(-1)).reshape(*cell.shape, 4)
        constant, linear, square, cube = rows.unbind(-1)
        slope = torch.addcmul(linear, within, torch.addcmul(square, within, cube))
        return torch.addcmul(constant, within, slope)

    def _recorded(self, margin: Recorded) -> Recorded:
        """Exact near the anchor in single precision too: the rounding error of ``offset`` is added last."""
        position = torch.rsub(margin, self._single, alpha=self.per_margin)  # type: ignore[call-overload]
        return margin.tape.table(position + (self.offset - self._single), self._table)

    def __getstate__(self) -> dict[str, Any]:
        """Copies on devices are not pickled: another machine may not have these devices."""
        return {**self.__dict__, "_copies": {}}

    def _on(self, margin: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            return self._table.to(margin.device, margin.dtype)
        key = (margin.device, margin.dtype)
        if key not in self._copies:
            self._copies[key] = self._table.to(margin.device, margin.dtype)
        return self._copies[key]


def _cubics(
    function: Callable[[Tensor], Tensor], knots: Tensor, width: float, anchor_cell: int, ends: bool
) -> Tensor:
    """Rows (constant, linear, square, cube) per cell by Hermite interpolation; end cells are linear."""
    nodes, weights = (torch.from_numpy(a) for a in np.polynomial.legendre.leggauss(8))
    inside = knots[:-1, None] - width * (nodes + 1) / 2
    rise = function(inside) @ weights * width / 2
    value = torch.cat([rise.new_zeros(1), rise.cumsum(0)])
    value = value - value[anchor_cell]
    slope = function(knots) * width
    before, after = slope[:-1], slope[1:]
    cubic = [value[:-1], before, 3 * rise - 2 * before - after, before + after - 2 * rise]
    first_slope = 0.0 if ends else float(slope[0])
    first = rise.new_tensor([[float(value[0]) - first_slope, first_slope, 0.0, 0.0]])
    last = rise.new_tensor([[float(value[-1]), float(slope[-1]), 0.0, 0.0]])
    return torch.cat([first, torch.stack(cubic, dim=1), last])


# The margin before training -----------------------------------------------------------------------

EXACT_BELOW = 10
MAX_CORRECTION = 0.1
_exact_values: dict[tuple[int, float], float] = {}


def expected_margin(num_classes: int, std: float = 1.0) -> float:
    r"""Mean margin of a network at initialisation, whose logits are iid :math:`N(\mu, s^2)`.

    .. math:: E[\Delta] \approx -\log(K-1) - \frac{s^2}{2} + \frac{e^{s^2}-1}{2(K-1)}

    For fewer than 10 classes, or a std so large that the last term exceeds 0.1, the approximation is
    inaccurate and the exact value is computed by quadrature.

    Example:
        >>> round(expected_margin(100), 4), expected_margin(2)
        (-5.0864, 0.0)

    Reference: A Curriculum View of Robust Loss Functions, Eq. 4, which is printed with K in place
    of K-1.
    """
    if not isinstance(num_classes, int) and not float(num_classes).is_integer():
        raise ValueError(f"num_classes={num_classes} must be a whole number")
    if num_classes < 2:
        raise ValueError(f"num_classes={num_classes}: a margin needs at least 2 classes")
    if not 0 <= std <= 10:
        raise ValueError(f"std={std} must be between 0 and 10")
    others = num_classes - 1
    correction = math.expm1(std**2) / (2 * others)
    if num_classes < EXACT_BELOW or correction > MAX_CORRECTION:
        key = (num_classes, float(std))
        if key not in _exact_values:
            _exact_values[key] = _exact(others, float(std))
        return _exact_values[key]
    return -math.log(others) - std**2 / 2 + correction


def _exact(others: int, std: float) -> float:
    r""":math:`-E\log\sum e^{z}` through :math:`\log S = \int (e^{-t} - e^{-tS})\,dt/t`, t = e^u."""
    if others == 1 or std == 0.0:
        return -math.log(others) + 0.0
    normal = np.linspace(-10.0, 10.0, 241)
    density = np.exp(-(normal**2) / 2)
    density /= density.sum()
    reach = 40.0 + 12.0 * std
    log_t = np.linspace(-reach, reach, int(reach * 20))
    laplace = np.exp(-np.exp(np.minimum(log_t[:, None] + std * normal, 50.0))) @ density
    integrand = np.exp(-np.exp(np.minimum(log_t, 50.0))) - laplace**others
    return -float(integrand.sum() * (log_t[1] - log_t[0]))
