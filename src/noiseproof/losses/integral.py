r"""Values of losses that are defined by their emphasis: :math:`\int_\Delta^{anchor}` as a cubic table."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

CELL_WIDTH = 1 / 64
MOST_CELLS = 1 << 16


class IntegralTable:
    r""":math:`V(\Delta)=\int_\Delta^{anchor} f`, exact to about 1e-9 where f is smooth.

    Cells are counted from the anchor, so that V keeps its relative precision where it tends to 0.
    Outside [low, high] f is taken as constant; the table itself is built once in float64.

    Example:
        >>> table = IntegralTable(lambda m: torch.sigmoid(-m), low=-40.0, high=40.0, anchor=40.0)
        >>> table(torch.tensor(0.0))
        tensor(0.6931)
    """

    def __init__(
        self, function: Callable[[Tensor], Tensor], *, low: float, high: float, anchor: float
    ) -> None:
        self.width = max(CELL_WIDTH, (high - low) / MOST_CELLS)
        self.anchor = anchor
        right, left = (math.ceil(span / self.width) for span in (high - anchor, anchor - low))
        self.first_cell = -right
        knots = anchor - self.width * torch.arange(-right, left + 1, dtype=torch.float64)
        self._table = _cubics(function, knots, self.width, right)
        self._copies: dict[tuple[torch.device, torch.dtype], Tensor] = {}

    def __call__(self, margin: Tensor) -> Tensor:
        table = self._on(margin)
        cells = table.shape[0]
        position = (self.anchor - margin) / self.width - self.first_cell
        cell = position.detach().nan_to_num(0.0).floor().clamp(0, cells - 1)
        within = (position - cell).clamp(0.0, 1.0)
        beyond = position - cell - within
        constant, linear, square, cube, slope = table[cell.long()].unbind(-1)
        return constant + within * (linear + within * (square + within * cube)) + beyond * slope

    def _on(self, margin: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            return self._table.to(margin.device, margin.dtype)
        key = (margin.device, margin.dtype)
        if key not in self._copies:
            self._copies[key] = self._table.to(margin.device, margin.dtype)
        return self._copies[key]


def _cubics(
    function: Callable[[Tensor], Tensor], knots: Tensor, width: float, anchor_cell: int
) -> Tensor:
    """Rows (constant, linear, square, cube, slope beyond the end) per cell, from Hermite data."""
    nodes, weights = (torch.from_numpy(a) for a in np.polynomial.legendre.leggauss(8))
    inside = knots[:-1, None] - width * (nodes + 1) / 2
    areas = function(inside) @ weights * width / 2
    value = torch.cat([areas.new_zeros(1), areas.cumsum(0)])
    value = value - value[anchor_cell]
    slope = function(knots) * width
    rise, before, after = areas, slope[:-1], slope[1:]
    cubic = [value[:-1], before, 3 * rise - 2 * before - after, before + after - 2 * rise]
    end = torch.zeros_like(rise)
    end[0], end[-1] = before[0], after[-1]
    return torch.stack([*cubic, end], dim=1)
