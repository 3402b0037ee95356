"""Losses around another one that the compiled CPU operator knows: peer loss, and cr of cross entropy."""

from __future__ import annotations

from torch import Tensor

from ..kernels import cpu_operator
from .base import Loss
from .ce import CE
from .compiled import number_of
from .cr import CR
from .margin_loss import MarginLoss
from .peer import Peer


def wrapped(loss: Loss, logits: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor | None:
    """The loss without weights; None if it is none of these. ValueError if something is wrong."""
    if type(loss) is Peer:
        return _peer(loss, logits, target, ignore_index, reduction)
    if type(loss) is CR and type(loss.base) is CE:
        prior = None if loss.prior is None else loss.prior.float().contiguous()
        return cpu_operator.run_blind(logits, target, prior, loss.beta, ignore_index, reduction)
    return None


def _peer(loss: Peer, logits: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor | None:
    step = loss.step
    number = number_of(loss.base, logits.shape[1]) if isinstance(loss.base, MarginLoss) else None
    if number is None or not step.is_cpu:
        return None
    peering = cpu_operator.Peering(loss.alpha, loss.seed, step, loss.training)
    return cpu_operator.run_peer(logits, target, number, peering, ignore_index, reduction)
