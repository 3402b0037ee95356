"""The largest emphasis of a loss and the margin that gets it, limits included."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

FAR = 1e4
"""Margins beyond this stand for the limits at plus and minus infinity."""


class Peak(NamedTuple):
    """The largest emphasis and where it is."""

    emphasis: float
    margin: float
    """-inf or inf where the supremum is a limit, nan where the emphasis is constant."""


def find_peak(emphasis: Callable[[Tensor], Tensor], name: str) -> Peak:
    """Search a grid that is fine near 0 and reaches to both limits, then zoom in."""
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
    return _zoom(emphasis, float(grid[best - 1]), float(grid[best + 1]))


def _limit(emphasis: Callable[[Tensor], Tensor], end: float, name: str) -> float:
    half, whole = emphasis(torch.tensor([end / 2, end], dtype=torch.float64, device="cpu")).tolist()
    if whole > half * (1 + 1e-6):
        raise ValueError(f"{name}: the emphasis grows without bound, it has no maximum")
    return float(whole)


def _zoom(emphasis: Callable[[Tensor], Tensor], low: float, high: float) -> Peak:
    for _ in range(8):
        fine = torch.linspace(low, high, 101, dtype=torch.float64, device="cpu")
        curve = emphasis(fine)
        best = int(curve.argmax())
        low, high = float(fine[max(best - 1, 0)]), float(fine[min(best + 1, 100)])
    return Peak(float(curve[best]), float(fine[best]))
