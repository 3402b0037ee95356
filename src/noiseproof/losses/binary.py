"""Binary and multi-label tasks: every logit is a separate two-class problem."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import accumulation_dtype, attach, values_can_be_checked
from .base import Loss, Outer
from .rows import not_zero
from .wrappers import margin_loss_of


class Binary(Loss):
    r"""A MarginLoss on sigmoid outputs: targets have the shape of the logits.

    Loss:
        :math:`t\,\ell(z) + (1-t)\,\ell(-z)` elementwise; for t in {0, 1} the margin is
        :math:`\Delta = (2t-1)z`. ``binary(ce)`` is BCE with logits.
    Limits:
        :math:`0\le t\le 1`; elements equal to ``ignore_index`` are ignored; ``weight`` has one entry
        per label of dimension 1 (dimension 0 of a vector); the mean is over elements.
    Shape:
        logits (...), target of the same shape; sample_weight broadcasts from the left
    Example:
        >>> Binary("gce", reduction="none")(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0]))
        tensor([0.5492, 1.2595])

    Reference:
        elementwise use as in torch.nn.BCEWithLogitsLoss
    """

    name = "binary"
    takes_class_targets = False
    defined_per_class = False
    why_no_row_function = "it has no classes"

    def __init__(self, inner: Loss | str, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.base = margin_loss_of(inner, self.name)

    @property
    def inner(self) -> tuple[Loss, ...]:
        return (self.base,)

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        *,
        sample_weight: Tensor | None = None,
        index: Tensor | None = None,
    ) -> Tensor:
        keep, soft = self._targets(logits, target)
        values = torch.where(keep, self._elements(torch.where(keep, logits, 0.0), soft, keep), 0.0)
        count = self._counts(keep.to(values.dtype), sample_weight)
        if self.reduction == "none":
            return values * count
        total = (values * count).sum()
        if self.reduction == "sum":
            return total
        return total / not_zero(count.sum())

    def _elements(self, logits: Tensor, soft: Tensor, keep: Tensor) -> Tensor:
        margin = logits.to(accumulation_dtype(logits.dtype))
        soft = soft.to(margin.dtype)
        both = torch.stack([margin, -margin])
        mass = torch.stack([soft, 1 - soft]) * keep
        value, emphasis = self.base.evaluate(both, num_classes=2, mass=mass)
        return (attach(value, [both], [-emphasis]) * mass).sum(0)

    def _targets(self, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        if not logits.is_floating_point():
            raise TypeError(f"logits must be floating point, got {logits.dtype}")
        if target.shape != logits.shape:
            raise ValueError(
                f"binary: target of shape {tuple(target.shape)} must have the shape of the logits,"
                f" {tuple(logits.shape)}"
            )
        target = target.to(torch.float32) if not target.is_floating_point() else target
        keep = target != self.ignore_index
        soft = torch.where(keep, target, 0.0)
        if values_can_be_checked(soft):
            _check_values(logits, soft, keep)
        return keep, soft

    def _counts(self, keep: Tensor, sample_weight: Tensor | None) -> Tensor:
        count = keep
        if self.weight is not None:
            dimension = min(1, keep.dim() - 1)
            if keep.shape[dimension] != self.weight.shape[0]:
                raise ValueError(
                    f"weight has {self.weight.shape[0]} entries but there are {keep.shape[dimension]} labels"
                )
            shape = [1] * keep.dim()
            shape[dimension] = -1
            count = count * self.weight.reshape(shape).to(count.dtype)
        if sample_weight is not None:
            missing = keep.dim() - sample_weight.dim()
            count = count * sample_weight.reshape(*sample_weight.shape, *([1] * missing)).to(count.dtype)
        return count


def _check_values(logits: Tensor, soft: Tensor, keep: Tensor) -> None:
    invalid = ~((soft >= 0) & (soft <= 1))
    if invalid.any():
        raise ValueError(f"binary: target {float(soft[invalid][0])} is outside [0, 1]")
    not_finite = keep & ~logits.isfinite()
    if not_finite.any():
        where = ", ".join(str(i) for i in not_finite.nonzero()[0].tolist())
        raise ValueError(f"logits[{where}] = {float(logits[not_finite][0])} is not finite")
