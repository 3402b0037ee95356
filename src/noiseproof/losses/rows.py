"""Conversion of all layouts that torch accepts to rows: (N, C), (C,) or (N, C, d1, ...) become (rows, C)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..kernels import values_can_be_checked
from ..kernels.linear.projection import Projection, project

SUM_TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 1e-2}
"""Tolerance of the sum of a row's soft targets; 1e-3 for other dtypes."""


class Rows(NamedTuple):
    """A batch as rows. ``target`` is (N,) class indices, 0 where ignored, or (N, C) soft targets."""

    logits: Tensor
    target: Tensor
    keep: Tensor | None
    """False where the row is ignored; None if no row is ignored."""
    shape: torch.Size
    """Shape of the unreduced loss."""

    @property
    def is_soft(self) -> bool:
        return self.target.dim() == 2

    def part(self, logits: Tensor, rows: slice) -> Rows:
        """A slice of rows with hard targets, and the given logits."""
        target = self.target[rows]
        return Rows(logits, target, None if self.keep is None else self.keep[rows], target.shape)


def as_rows(logits: Tensor, target: Tensor, ignore_index: int) -> Rows:
    """Flatten to rows. Shapes and dtypes are always checked, values where that needs no synchronisation."""
    check_logits(logits)
    if not isinstance(target, Tensor):
        raise TypeError(f"target must be a tensor, got {type(target).__name__}: use torch.as_tensor(target)")
    if target.device != logits.device and not logits.is_meta:
        raise ValueError(
            f"target is on {target.device}, logits are on {logits.device}: move the target there with"
            " target.to(logits.device)"
        )
    shape = logits.shape[:1] + logits.shape[2:] if logits.dim() > 1 else torch.Size(())
    flat = flatten_classes(logits)
    if target.is_floating_point():
        _check_soft(logits, target)
        return Rows(flat, flatten_classes(target), None, shape)
    if target.is_complex() or target.shape != shape:
        raise ValueError(
            f"target of shape {tuple(target.shape)} and dtype {target.dtype} does not fit logits of"
            f" shape {tuple(logits.shape)}: expected class indices of shape {tuple(shape)}, or"
            f" floating point class probabilities of shape {tuple(logits.shape)}"
        )
    target = target.long()
    keep = kept_rows(target, flat.shape[1], ignore_index)
    if keep is not None:
        target = torch.where(keep, target, 0)
        keep = keep.reshape(-1)
    return Rows(flat, target.reshape(-1), keep, shape)


def check_logits(logits: Tensor) -> None:
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be a tensor, got {type(logits).__name__}: use torch.as_tensor(logits)")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, got {logits.dtype}")
    if logits.dim() == 0:
        raise ValueError("logits must have a class dimension, got a scalar")
    classes = logits.shape[1] if logits.dim() > 1 else logits.shape[0]
    if classes < 2:
        raise ValueError(
            f"logits of shape {tuple(logits.shape)} have {classes} class: a margin needs at least 2"
            " (for one logit per label use binary(...))"
        )


def flatten_classes(tensor: Tensor) -> Tensor:
    """(N, C, d1, ...) to (N*d1*..., C)."""
    if tensor.dim() == 2:
        return tensor
    if tensor.dim() == 1:
        return tensor.unsqueeze(0)
    return tensor.movedim(1, -1).reshape(-1, tensor.shape[1])


def kept_rows(target: Tensor, classes: int, ignore_index: int) -> Tensor | None:
    """Which targets are not ignored. Where values can be read, None if all are; raises if one is invalid."""
    if not values_can_be_checked(target):
        return target != ignore_index
    if target.numel() == 0:
        return None
    low, high = torch.aminmax(target)
    in_range = low.item() >= 0 and high.item() < classes
    if in_range and not 0 <= ignore_index < classes:
        return None
    keep = target != ignore_index
    if not in_range:
        raise_for_invalid(target, keep, classes, f"rows to ignore must have ignore_index={ignore_index}")
    return None if keep.all() else keep


def raise_for_invalid(target: Tensor, keep: Tensor | None, classes: int, advice: str) -> None:
    """Raise ValueError for the first label of the kept rows that is not a valid class index."""
    invalid = (target < 0) | (target >= classes)
    invalid = invalid if keep is None else invalid & keep
    if not invalid.any():
        return
    where = tuple(invalid.nonzero()[0].tolist())
    position = ", ".join(str(i) for i in where)
    raise ValueError(
        f"target[{position}] = {int(target[where])} is not a valid class index: with {classes} classes"
        f" labels run from 0 to {classes - 1}; {advice}"
    )


def row_weights(sample_weight: Tensor, shape: torch.Size) -> Tensor:
    """One entry per sample of a batch of this shape, flat."""
    if not isinstance(sample_weight, Tensor):
        raise TypeError(f"sample_weight must be a tensor, got {type(sample_weight).__name__}")
    if (given := tuple(sample_weight.shape)) != tuple(shape):
        raise ValueError(f"sample_weight of shape {given} needs one entry per sample: {tuple(shape)}")
    if values_can_be_checked(sample_weight) and not bool(sample_weight.isfinite().all()):
        raise ValueError("sample_weight has values that are NaN or infinite")
    return sample_weight.reshape(-1)


def not_zero(total: Tensor) -> Tensor:
    """1 in place of 0, for an empty or fully ignored batch, whose numerator is 0."""
    return total + (total == 0)


def _check_soft(logits: Tensor, target: Tensor) -> None:
    if target.shape != logits.shape:
        raise ValueError(
            f"soft target of shape {tuple(target.shape)} must have the shape of the logits,"
            f" {tuple(logits.shape)} (class indices must be integers, got {target.dtype})"
        )
    if not values_can_be_checked(target) or target.numel() == 0:
        return
    if not bool(((target >= 0) & target.isfinite()).all()):
        raise ValueError("soft targets must be finite and not negative")
    totals = target.detach().sum(1 if target.dim() > 1 else 0, dtype=torch.float64)
    wrong = (totals - 1).abs() > SUM_TOLERANCE.get(target.dtype, 1e-3)
    if wrong.any():
        raise ValueError(
            f"soft targets must be probabilities that sum to 1 over the classes, got a sum of"
            f" {float(totals[wrong][0]):g}: normalise them, and pass sample_weight to weight samples"
        )
    masked = (logits == -torch.inf) & (target > 0) if values_can_be_checked(logits) else None
    if masked is not None and masked.any():
        place = tuple(masked.nonzero()[0].tolist())
        raise ValueError(
            f"logits{list(place)} = -inf, but the soft target gives this class {float(target[place]):g}:"
            " a masked class cannot be a target"
        )


class LinearBatch(NamedTuple):
    """``hidden`` (..., H), ``weight`` (V, H), ``target`` (...) or soft (..., V), ``bias`` (V,)."""

    hidden: Tensor
    weight: Tensor
    target: Tensor
    bias: Tensor | None
    chunk: int | None

    @property
    def shape(self) -> torch.Size:
        """Shape of the unreduced loss."""
        return self.hidden.shape[:-1]

    def rows(self, ignore_index: int) -> Rows:
        """Checked targets, with logits that have a shape but take no memory."""
        size = (*self.shape[:1], self.weight.shape[0], *self.shape[1:])
        logits = torch.empty(size, dtype=self.hidden.dtype, device="meta")
        return as_rows(logits, self._class_second(), ignore_index)

    def projection(self) -> Projection:
        flat = self.hidden.reshape(-1, self.hidden.shape[-1])
        return project(flat, self.weight, self.bias, self.chunk)

    def stored(self) -> tuple[Tensor, Tensor]:
        """Logits and targets for ``forward``, used in ``torch.func``, which needs plain expressions."""
        logits = linear(self.hidden, self.weight, self.bias)
        moved = logits.movedim(-1, 1) if logits.dim() > 1 else logits
        return moved, self._class_second()

    def _class_second(self) -> Tensor:
        soft = self.target.is_floating_point() and self.target.dim() > 1
        return self.target.movedim(-1, 1) if soft else self.target


def linear_batch(
    hidden: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, chunk: int | None
) -> LinearBatch:
    """Inputs of ``Loss.linear`` with checked shapes."""
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
