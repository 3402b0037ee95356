"""Small problems that the checks share: functions of a seed, on the default device of torch."""

from __future__ import annotations

import torch
from torch import Tensor

from ..losses import Loss, UnitMax

CLASSES = 5


def problem(rows: int = 12, classes: int = CLASSES, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Logits with moderate margins in float64, and labels."""
    generator, here = torch.Generator("cpu").manual_seed(seed), torch.empty(0).device
    logits = 2 * torch.randn(rows, classes, dtype=torch.float64, generator=generator, device="cpu")
    target = torch.randint(classes, (rows,), generator=generator, device="cpu")
    return logits.to(here), target.to(here)


def variant(loss: Loss, **settings: object) -> Loss:
    """A frozen copy of the loss with other outer settings: a function of its inputs alone."""
    outer = {"reduction": "mean", "ignore_index": -100, "weight": None, **settings}
    return loss.replace(**outer).eval()  # type: ignore[arg-type]


def value_and_gradient(loss: Loss, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    leaf = logits.detach().clone().requires_grad_()
    value = loss(leaf, target)
    (gradient,) = torch.autograd.grad(value.sum(), leaf)
    return value.detach(), gradient


def assert_close(found: Tensor, wanted: Tensor, tolerance: float = 1e-12) -> None:
    """Relative to the largest entry, or absolute below 1."""
    torch.testing.assert_close(
        found.double(), wanted.double(), rtol=tolerance, atol=tolerance * max(1.0, _largest(wanted))
    )


def _largest(tensor: Tensor) -> float:
    return float(tensor.abs().max()) if tensor.numel() else 0.0


def divides_by_the_batch(loss: Loss) -> bool:
    """Dividing by a detached mean makes the gradient differ from that of the value, on purpose."""
    if getattr(loss, "normalize", "none") == "batch":
        return True
    return not isinstance(loss, UnitMax) and any(divides_by_the_batch(part) for part in loss.inner)
