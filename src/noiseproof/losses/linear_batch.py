"""Hidden states, a weight and targets as rows, beside logits that have a shape and no memory."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..kernels.linear.sweep import Projection
from ..kernels.linear.total import project
from .rows import Rows, as_rows


class LinearBatch(NamedTuple):
    """``hidden`` (..., H), ``weight`` (V, H), ``target`` (...) or soft (..., V), ``bias`` (V,)."""

    hidden: Tensor
    weight: Tensor
    target: Tensor
    bias: Tensor | None
    chunk: int | None

    @property
    def shape(self) -> torch.Size:
        """Of the unreduced loss."""
        return self.hidden.shape[:-1]

    def rows(self, ignore_index: int) -> Rows:
        """Targets checked as always, beside logits on no device."""
        size = class_second(self.shape, self.weight.shape[0])
        logits = torch.empty(size, dtype=self.hidden.dtype, device="meta")
        return as_rows(logits, self._class_second(self.target), ignore_index)

    def projection(self) -> Projection:
        return project(self._flat(), self.weight, self.bias, self.chunk)

    def stored(self) -> tuple[Tensor, Tensor]:
        """Logits and targets as other losses take them, for ``torch.func``, which needs plain expressions."""
        logits = linear(self.hidden, self.weight, self.bias)
        moved = logits.movedim(-1, 1) if logits.dim() > 1 else logits
        return moved, self._class_second(self.target)

    def _flat(self) -> Tensor:
        return self.hidden.reshape(-1, self.hidden.shape[-1])

    def _class_second(self, target: Tensor) -> Tensor:
        return target.movedim(-1, 1) if target.is_floating_point() and target.dim() > 1 else target


def class_second(shape: torch.Size, classes: int) -> tuple[int, ...]:
    return (*shape[:1], classes, *shape[1:])


def linear_batch(
    hidden: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, chunk: int | None
) -> LinearBatch:
    """Shapes that fit together, named where they do not."""
    if hidden.dim() == 0 or weight.dim() != 2 or hidden.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"hidden of shape {tuple(hidden.shape)} does not fit weight of shape {tuple(weight.shape)}:"
            " expected (..., H) and (V, H)"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(
            f"bias of shape {tuple(bias.shape)} must have one entry per row of weight,"
            f" shape {tuple(weight.shape[:1])}"
        )
    hard, soft = tuple(hidden.shape[:-1]), (*hidden.shape[:-1], weight.shape[0])
    if tuple(target.shape) != (soft if target.is_floating_point() else hard):
        raise ValueError(
            f"target of shape {tuple(target.shape)} and dtype {target.dtype} does not fit hidden of shape"
            f" {tuple(hidden.shape)}: expected class indices of shape {hard}, or floating point class"
            f" probabilities of shape {soft}"
        )
    if target.requires_grad:
        raise ValueError("soft targets get no gradient where logits are not stored: detach them")
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1):
        raise ValueError(f"chunk={chunk!r} must be a whole number of rows, at least 1")
    return LinearBatch(hidden, weight, target, bias, chunk)
