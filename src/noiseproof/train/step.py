"""One step of training, the same whether it is run or captured."""

from __future__ import annotations

from torch import Tensor, nn

from ..data import Batch
from .health import check_now, note_health
from .session import Session


def train_step(
    session: Session, batch: Batch, views: Tensor, lr: float | Tensor, number: int | Tensor
) -> None:
    """Forward, backward, update, record: by tensors on the device alone.

    ``views`` is what the network sees of the batch, ``lr`` what the optimiser was told, ``number`` that of
    the batch in its epoch. Nothing here changes a number of Python, so a captured step can be replayed.
    """
    outputs = session.outputs(views)
    outputs.logits.retain_grad()
    check_now(session, outputs.logits, batch, number, "logits")
    loss = session.method.loss((outputs,), batch, session.epoch)
    check_now(session, loss, batch, number, "loss")
    note_health(session, outputs.logits, loss, number)
    for weight in session.parameters:  # what zero_grad does, without its hooks
        weight.grad = None
    loss.backward()  # type: ignore[no-untyped-call]
    if session.config.clip is not None:
        nn.utils.clip_grad_norm_(session.parameters, session.config.clip)
    session.optimizer.step()
    session.observe(batch, outputs.logits, loss, lr)
