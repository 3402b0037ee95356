r"""Values of losses that are defined by their emphasis: :math:`\int_\Delta^{anchor}` as a cubic table."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..kernels.programs.recorder import Recorded

CELL_WIDTH = 1 / 64
MOST_CELLS = 1 << 16


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
        width = max(CELL_WIDTH, (high - low) / MOST_CELLS)
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
        position = self.offset - self.per_margin * margin
        cell = position.detach().clamp(0, len(self._table) - 1)
        if margin.device.type != "cpu":
            cell = cell.nan_to_num(0.0)
        cell = cell.long()
        within = position - cell
        rows = self._on(margin).index_select(0, cell.reshape(-1)).reshape(*cell.shape, 4)
        constant, linear, square, cube = rows.unbind(-1)
        slope = torch.addcmul(linear, within, torch.addcmul(square, within, cube))
        return torch.addcmul(constant, within, slope)

    def _recorded(self, margin: Recorded) -> Recorded:
        """In single precision too the position is exact near the anchor: what ``offset`` loses comes last."""
        nearly = torch.rsub(margin, self._single, alpha=self.per_margin)  # type: ignore[call-overload]
        return margin.tape.table(nearly + (self.offset - self._single), self._table)

    def __getstate__(self) -> dict[str, Any]:
        """Copies on devices stay behind: another machine may have none."""
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
    """Rows (constant, linear, square, cube) per cell from Hermite data, a straight cell at each end."""
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
