r"""How much class confusion a loss tolerates, from its curve alone.

With :math:`r(p) = -\ell'(p)` the ratio is the infimum over :math:`p_i, p_j \ge 0, p_i+p_j\le 1` of
:math:`[\ell(p_i)-\ell(p_i+p_j)] / [\ell(0)-\ell(p_j)]`: a loss is robust as long as the likeliest wrong
label is less likely than this fraction of the right one (Zhou et al., ICML 2021).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

Function = Callable[[Tensor], Tensor]


def log_slope(emphasis: Function, margin: Tensor) -> Tensor:
    r""":math:`\log(-d\ell/dp)` at the given margins."""
    return emphasis(margin).log() - logsigmoid(margin) - logsigmoid(-margin)


def is_linear_in_p(emphasis: Function) -> bool:
    """True if dl/dp is constant."""
    slope = log_slope(emphasis, torch.linspace(-30, 30, 601, dtype=torch.float64, device="cpu"))
    return bool(slope.isfinite().all()) and float(slope.max() - slope.min()) < 1e-6


def asymmetry_ratio(emphasis: Function, value: Function) -> float:
    """The infimum, from a grid of finite steps and from the limit of small ones."""
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
