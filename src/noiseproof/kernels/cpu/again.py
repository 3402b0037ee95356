"""Gradients of the compiled CPU operator as expressions that can themselves be differentiated."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .. import differentiable
from ..programs.replay import replay

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def again(
    logits: Tensor,
    target: Tensor,
    upstream: Tensor,
    code: list[float],
    outputs: list[int],
    slots: list[int],
    wanted: list[int],
    tables: list[Tensor],
    ignore_index: int,
    reduction: int,
) -> Tensor:
    """The gradient as an expression that can itself be differentiated."""
    safe, label, upstream = _counted(logits, target, upstream, ignore_index, reduction)
    rows = list(differentiable.statistics(safe, label)) if wanted else [differentiable.margin(safe, label)]
    inputs = [*rows, differentiable.present_classes(safe).squeeze(-1)] if wanted else rows
    registers = replay(code, inputs, tables)
    used = [row for row, slot in zip(rows, slots, strict=False) if slot >= 0]
    steps = [upstream * registers[outputs[slot + 1]] for slot in slots if slot >= 0]
    (gradient,) = torch.autograd.grad(used, logits, steps, create_graph=True)
    return gradient


def again_classes(
    logits: Tensor,
    target: Tensor,
    upstream: Tensor,
    code: list[float],
    outputs: list[int],
    prior: Tensor | None,
    beta: float,
    ignore_index: int,
    reduction: int,
) -> Tensor:
    """The same for losses that look at every class; ``prior`` is padded."""
    safe, label, upstream = _counted(logits, target, upstream, ignore_index, reduction)
    masked = safe == -torch.inf
    margins = differentiable.class_margins(safe).masked_fill(masked, 0.0)
    opposite = -margins
    inputs = [margins, margins.sigmoid(), opposite.sigmoid(), logsigmoid(margins), logsigmoid(opposite)]
    registers = replay(code, inputs)
    value, emphasis = (registers[outputs[k]].masked_fill(masked, 0.0) for k in (0, 2))
    own = torch.zeros_like(margins).scatter(1, label.unsqueeze(1), 1.0)
    if prior is not None:
        factor = own - beta * prior[: logits.shape[1]]
    else:
        blind = value.sum(1, keepdim=True)
        factor = (own - value.gather(1, label.unsqueeze(1)) / blind) / blind
    steps = -upstream.reshape(-1, 1) * factor * emphasis
    return torch.autograd.grad(margins, logits, steps, create_graph=True)[0]


def _counted(
    logits: Tensor, target: Tensor, upstream: Tensor, ignore_index: int, reduction: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits and labels of rows that count, zeros elsewhere, and what every row is multiplied by."""
    keep = target != ignore_index
    if reduction == REDUCTIONS["mean"]:
        upstream = upstream / keep.sum().clamp_min(1)
    safe = torch.where(keep.unsqueeze(1), logits, 0.0)
    return safe, torch.where(keep, target, 0), torch.where(keep, upstream, 0.0)
