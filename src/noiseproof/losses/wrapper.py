"""A MarginLoss made from another one."""

from __future__ import annotations

from torch import Tensor
from typing_extensions import Unpack

from .base import Loss, Outer
from .margin_loss import MarginLoss
from .part import part_of


class Wrapper(MarginLoss):
    """Implement ``evaluate`` from ``self.base``; value and emphasis follow."""

    base: MarginLoss

    def __init__(self, inner: Loss | str, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.base = margin_loss_of(inner, self.name)

    @property
    def inner(self) -> tuple[Loss, ...]:
        return (self.base,)

    def value(self, margin: Tensor) -> Tensor:
        return self.evaluate(margin)[0]

    def emphasis(self, margin: Tensor) -> Tensor:
        return self.evaluate(margin)[1]


def margin_loss_of(inner: object, wrapper: str) -> MarginLoss:
    """The inner loss, which must be a function of the margin."""
    loss = part_of(wrapper, inner) if isinstance(inner, (Loss, str)) else inner
    if not isinstance(loss, MarginLoss):
        raise TypeError(f"{wrapper} takes a MarginLoss (a function of the margin alone), got {loss}")
    return loss
