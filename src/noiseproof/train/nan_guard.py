"""Checks that stop a run whose logits or loss become infinite or NaN; its last checkpoint is kept."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..data import Batch
from ..dynamics.run_folder import CHECKPOINTS
from .checkpoint import exists
from .config import Config, run_folder
from .session import NO_BATCH, Session

MAX_SHOWN = 8


class NonFiniteError(ArithmeticError):
    """The network or the loss returned NaN or infinity."""


def check_now(session: Session, values: Tensor, batch: Batch, number: int | Tensor, what: str) -> None:
    """Raise immediately, on a CPU and outside captured steps, if any value is infinite or NaN.

    A finite sum has only finite terms, so the terms are checked only if the sum is not finite.
    """
    if session.device.type != "cpu" or isinstance(number, Tensor):
        return
    if math.isfinite(float(values.detach().sum())) or bool(values.detach().isfinite().all()):
        return
    rows = values.detach().isfinite().reshape(len(values), -1).all(1) if values.dim() else None
    index = batch.index if rows is None else batch.index[~rows]
    raise _error(session, what, session.epoch, number, index)


def note_health(session: Session, logits: Tensor, loss: Tensor, number: int | Tensor) -> None:
    """Store the number of the first bad batch on the device, without synchronisation and in few kernels.

    Does nothing if ``check_now`` has checked them. A sum that overflows from finite terms counts as bad too.
    """
    if session.device.type == "cpu" and not isinstance(number, Tensor):
        return
    total = logits.detach().sum() + loss.detach()
    first = torch.where(total - total == 0, session.first_bad, number)
    torch.minimum(session.first_bad, first, out=session.first_bad)


def check_health(session: Session) -> None:
    """Raise if a batch was bad; called once per epoch and before each checkpoint."""
    place = int(session.first_bad)
    if place < NO_BATCH:
        order = session.order()
        start, stop = session.bounds[place]
        raise _error(session, "logits or loss", session.epoch, place, session.train.index[order[start:stop]])


def _error(session: Session, what: str, epoch: int, batch: int, index: Tensor) -> NonFiniteError:
    numbers = index.tolist()
    shown = ", ".join(map(str, numbers[:MAX_SHOWN])) + (", ..." if len(numbers) > MAX_SHOWN else "")
    step = (epoch - 1) * len(session.bounds) + batch + 1
    return NonFiniteError(
        f"the {what} became infinite or NaN in epoch {epoch}, step {step}, with samples {shown}: lower lr"
        f" ({session.config.lr:g}), set clip (5 is common) or look at these samples"
        f"{_how_to_continue(session.config)}"
    )


def _how_to_continue(config: Config) -> str:
    """The end of the message: whether other settings need another folder, and whether a checkpoint exists."""
    folder, usual = run_folder(config), run_folder(config.replace(out=None))
    is_usual = folder.name.startswith(usual.name)
    elsewhere = "" if is_usual else f"; other settings need another --out than {folder}"
    is_saved = exists(folder / CHECKPOINTS)
    return elsewhere + ("; the last checkpoint is intact" if is_saved else "")
