"""Losses that look at every class of a row, as the compiled CPU operator takes them."""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from torch import Tensor

from ..kernels import Program, recorded_classes
from .base import Loss
from .cr import CR
from .focal import Focal
from .margin_loss import MarginLoss
from .nfl import NFL


class EveryClassProgram(NamedTuple):
    """The loss of one class as a program."""

    program: Program
    gamma: float | None
    """Of the focal loss, which the operator knows; None for any other."""


def counts_every_class(loss: Loss) -> TypeGuard[NFL | CR]:
    """Whether it is the loss of one class over, or less, that of all: another kind of program."""
    return type(loss) is NFL or (type(loss) is CR and isinstance(loss.base, MarginLoss))


def program_of_classes(loss: NFL | CR, classes: int) -> EveryClassProgram | None:
    """None if the loss of one class is no program."""
    base = Focal(gamma=loss.gamma) if isinstance(loss, NFL) else loss.base
    assert isinstance(base, MarginLoss)

    def evaluate(margin: Tensor) -> tuple[Tensor, Tensor]:
        return base.evaluate(margin, num_classes=classes, mass=1.0)

    program = recorded_classes(evaluate)
    gamma = base.gamma if type(base) is Focal else None
    return None if program is None else EveryClassProgram(program, gamma)
