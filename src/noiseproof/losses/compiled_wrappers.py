"""Losses around another one that the compiled CPU operator knows: peer loss and cr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from ..kernels.cpu import operator as cpu_operator
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
    peering = cpu_operator.Peering(loss.alpha, loss.seed, step, loss.training)
    return cpu_operator.run_peer(logits, target, number, peering, ignore_index, reduction)


def blind(loss: CR, logits: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor | None:
    """The same."""
    number = number_of(loss, logits.shape[1])
    if number is None:
        return None
    prior = None if loss.prior is None else loss.prior.float().contiguous()
    return cpu_operator.run_blind(logits, target, number, prior, loss.beta, ignore_index, reduction)


WRAPPERS: dict[type[Loss], Callable[[Any, Tensor, Tensor, int, str], Tensor | None]] = {Peer: peer, CR: blind}
