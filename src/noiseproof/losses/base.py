"""What every loss shares: layouts, soft targets, ignoring, weighting, reduction and a printable spec."""

from __future__ import annotations

import operator
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import TypedDict, Unpack

from ..kernels import RowFunction
from .fingerprint import Watched
from .fused import fused
from .limits import choice, class_weights, no_stray
from .printing import give_name, hyperparameters, spec_of
from .rows import Rows, as_rows, not_zero, row_weights

REDUCTIONS = ("mean", "sum", "none")


class Outer(TypedDict, total=False):
    """What only the outermost loss decides."""

    reduction: str
    ignore_index: int
    weight: Tensor | None


class Loss(Watched):
    r"""Base of all losses.

    Only the outermost loss reduces, ignores and weights. With hard targets ``mean`` is
    :math:`\sum_i w_{y_i} s_i \ell_i / \sum_i w_{y_i} s_i` over the rows that are not ignored, where w
    are class weights and s sample weights; with soft targets :math:`\ell_i = \sum_k w_k t_{ik} L(z_i, k)`
    and the mean is over rows. An empty or wholly ignored batch gives 0 with zero gradient.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        ignore_index: hard targets with this value count for nothing.
        weight: class weights of shape (C,).

    Shape:
        logits (N, C), (C,) or (N, C, d1, ...); target without the class dimension, or soft with it.
    """

    name: ClassVar[str]
    has_class_name: ClassVar[bool] = False
    takes_class_targets: ClassVar[bool] = True
    defined_per_class: ClassVar[bool] = True
    """False for losses that compare rows, whose value for one class of one row means nothing."""
    weight: Tensor | None
    short_way = fused

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        give_name(cls)

    def __init__(self, **outer: Unpack[Outer]) -> None:
        super().__init__()
        no_stray(self.name, outer, [*hyperparameters(type(self)), *Outer.__annotations__])  # type: ignore[arg-type]
        self.reduction = choice(self.name, "reduction", outer.get("reduction", "mean"), REDUCTIONS)
        self.ignore_index = operator.index(outer.get("ignore_index", -100))
        self.register_buffer("weight", class_weights(outer.get("weight")))

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        *,
        sample_weight: Tensor | None = None,
        index: Tensor | None = None,
    ) -> Tensor:
        """The reduced loss; ``index`` (permanent sample numbers) is for losses with a memory."""
        is_plain = sample_weight is None and self._buffers.get("weight", self) is None
        if is_plain and isinstance(logits, Tensor) and isinstance(target, Tensor):
            found = self.short_way(logits, target)
            if found is not None:
                return found
        rows = as_rows(logits, target, self.ignore_index)
        weight = self._class_weight(rows)
        if rows.is_soft:
            soft = rows.target if weight is None else rows.target * weight
            return self._reduce(self.soft_rows(rows.logits, soft), rows, None, sample_weight)
        return self._reduce(self.hard_rows(rows), rows, weight, sample_weight)

    def linear(
        self,
        hidden: Tensor,
        weight: Tensor,
        target: Tensor,
        *,
        bias: Tensor | None = None,
        sample_weight: Tensor | None = None,
        chunk: int | None = None,
    ) -> Tensor:
        """``self(F.linear(hidden, weight, bias), target)`` without ever storing the logits.

        ``hidden`` (..., H), ``weight`` (V, H), ``target`` (...). Gradients are formed in the forward pass,
        ``chunk`` rows at a time; with ``reduction="none"`` in the backward pass.

        Example:
            >>> Loss.of("mae").linear(torch.eye(2), torch.zeros(4, 2), torch.tensor([0, 1]))
            tensor(1.5000)
        """
        from .linear import linear_loss

        return linear_loss(self, hidden, weight, target, bias, sample_weight, chunk)

    def row_function(self, num_classes: int, mass: Tensor | float) -> RowFunction | None:
        """The loss as a function of row statistics alone, if it is one; ``mass`` as in ``evaluate``."""
        return None

    def hard_rows(self, rows: Rows) -> Tensor:
        """Unreduced loss of class indices, (N,); 0 where ignored."""
        raise NotImplementedError

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        """L(z, k) for every class k, (N, C); entries of zero ``mass`` do not matter."""
        raise NotImplementedError(
            f"{type(self).__name__} must define class_rows(logits, mass) for soft targets"
        )

    def soft_rows(self, logits: Tensor, soft: Tensor) -> Tensor:
        r""":math:`\sum_k t_k L(z, k)`, (N,)."""
        return (soft * self.class_rows(logits, soft)).sum(1)

    @staticmethod
    def of(spec: Loss | str) -> Loss:
        """A part of another loss, given as such or as a spec."""
        from .registry import get

        return get(spec)

    def outer(self) -> Outer:
        return {"reduction": self.reduction, "ignore_index": self.ignore_index, "weight": self.weight}

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The losses this one is made of."""
        return ()

    def _class_weight(self, rows: Rows) -> Tensor | None:
        if self.weight is None:
            return None
        if self.weight.shape[0] != rows.logits.shape[1]:
            raise ValueError(
                f"weight has {self.weight.shape[0]} entries but the logits have"
                f" {rows.logits.shape[1]} classes"
            )
        return self.weight if rows.is_soft else self.weight[rows.target]

    def _reduce(
        self, values: Tensor, rows: Rows, weight: Tensor | None, sample_weight: Tensor | None
    ) -> Tensor:
        count = None if weight is None else weight.to(values.dtype)
        if sample_weight is not None:
            share = row_weights(sample_weight, rows.shape).to(values.dtype)
            count = share if count is None else count * share
        weighted = values if count is None else values * count
        if self.reduction == "none":
            return weighted.reshape(rows.shape)
        if self.reduction == "sum" or values.numel() == 0:
            return weighted.sum()
        if count is None and rows.keep is None:
            return weighted.mean()
        if rows.keep is not None:
            count = rows.keep.to(values.dtype) if count is None else torch.where(rows.keep, count, 0.0)
        assert count is not None
        return weighted.sum() / not_zero(count.sum())

    def __str__(self) -> str:
        return spec_of(self)

    __repr__ = __str__

    def __add__(self, other: object) -> Loss:
        from .algebra import add

        return add(self, other) if isinstance(other, Loss) else NotImplemented

    def __radd__(self, other: object) -> Loss:
        return self if other == 0 else NotImplemented

    def __mul__(self, factor: object) -> Loss:
        from .algebra import multiply

        return multiply(factor, self) if isinstance(factor, (int, float)) else NotImplemented

    __rmul__ = __mul__
