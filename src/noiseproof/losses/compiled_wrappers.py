"""Losses around another one that the compiled CPU operator knows: peer loss and cr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from ..kernels.cpu import operator as cpu_operator
from ..kernels.cpu.again import REDUCTIONS
from .base import Loss
from .compiled import is_of_whole_batch, number_of
from .cr import CR
from .peer import Peer


def peer(loss: Peer, logits: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor | None:
    """The loss without weights; None if its base is no program, ValueError if something is wrong."""
    base, step = loss._modules["base"], loss._buffers["step"]
    assert isinstance(base, Loss)
    if type(base) in WRAPPERS or step is None or not step.is_cpu:
        return None
    number = number_of(base, logits.shape[1])
    if number is None or is_of_whole_batch(number):
        return None
    how = REDUCTIONS[reduction]
    found: Tensor = cpu_operator.peer(
        logits, target, step, loss.training, number, loss.alpha, loss.seed, ignore_index, how
    )
    return found


def blind(loss: CR, logits: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor | None:
    """The same."""
    number = number_of(loss, logits.shape[1])
    if number is None:
        return None
    prior = loss._buffers["prior"]
    if prior is not None:
        prior = prior.float().contiguous()
    how = REDUCTIONS[reduction]
    found: Tensor = cpu_operator.blind(logits, target, prior, number, loss.beta, ignore_index, how)
    return found


WRAPPERS: dict[type[Loss], Callable[[Any, Tensor, Tensor, int, str], Tensor | None]] = {Peer: peer, CR: blind}
