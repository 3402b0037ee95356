"""Numbers: extreme margins, half precision, and logits that are NaN or infinite."""

from __future__ import annotations

import torch
from torch import Tensor

from ..losses import Loss, MarginLoss
from .problem import problem, value_and_gradient, variant

EXTREMES = (-1e4, -1e3, -120.0, -80.0, -20.0, 0.0, 6.3, 17.4, 20.0, 80.0, 120.0, 1e3, 1e4)


def check_finite(loss: Loss) -> None:
    made = variant(loss, reduction="none")
    exact = _gradient_at_extremes(made, torch.float64)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        leaf, target = _extremes(dtype)
        value, gradient = value_and_gradient(made, leaf, target)
        assert value.isfinite().all(), f"value {value.tolist()} in {dtype}"
        fits = exact.abs() < torch.finfo(dtype).max
        assert gradient[fits].isfinite().all(), f"gradient not finite in {dtype}"


def check_half_precision(loss: Loss) -> None:
    logits, target = problem(64, 10, seed=1)
    made = variant(loss)
    for dtype in (torch.float16, torch.bfloat16):
        value, gradient = value_and_gradient(made, logits.to(dtype), target)
        assert value.dtype == torch.float32, f"loss of {dtype} logits is {value.dtype}"
        assert gradient.dtype == dtype, f"gradient of {dtype} logits is {gradient.dtype}"
        wanted, slope = value_and_gradient(made, logits.to(dtype).double(), target)
        assert abs(float(value - wanted)) <= 1e-4 * max(1.0, abs(float(wanted)))
        error = (gradient.double() - slope).abs().max() / slope.abs().max()
        assert float(error) < 1e-2, f"gradient off by {float(error)} in {dtype}"


def check_float32(loss: Loss) -> None:
    """Relative error of the gradient at margins within 80.

    Where a loss adds up parts that cancel, an error of 1e-6 of the largest gradient is allowed.
    """
    made = variant(loss, reduction="none")
    exact = _gradient_at_extremes(made, torch.float64)
    single = _gradient_at_extremes(made, torch.float32).double()
    inside = torch.tensor([abs(m) <= 80 for m in EXTREMES])
    size = exact.abs().amax(1).clamp_min(1e-30)
    if not isinstance(loss, MarginLoss):
        size = size.clamp_min(1e-3 * max(float(size.max()), 1.0))
    error = (single - exact).abs().amax(1) / size
    worst = float(error[inside].max())
    assert worst <= 1e-3, f"relative error {worst}"


def check_non_finite_named(loss: Loss) -> None:
    """On the CPU: elsewhere looking at values would wait for the device."""
    if torch.empty(0).device.type != "cpu":
        return
    for bad in (torch.nan, torch.inf):
        logits, target = problem()
        logits[7, (int(target[7]) + 1) % logits.shape[1]] = bad
        message = _complaint(variant(loss), logits, target)
        assert message is not None, f"{bad} among the logits goes unnoticed"
        assert "7" in message, f"row 7 is not named: {message}"


def _extremes(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Three classes; the label's margin is the given one minus log 2."""
    margins = torch.tensor(EXTREMES, dtype=torch.float64)
    logits = torch.stack([margins, torch.zeros_like(margins), torch.zeros_like(margins)], 1)
    return logits.to(dtype), torch.zeros(len(margins), dtype=torch.int64)


def _gradient_at_extremes(loss: Loss, dtype: torch.dtype) -> Tensor:
    return value_and_gradient(loss, *_extremes(dtype))[1]


def _complaint(loss: Loss, logits: Tensor, target: Tensor) -> str | None:
    try:
        loss(logits, target)
    except ValueError as problem_found:
        return str(problem_found)
    return None
