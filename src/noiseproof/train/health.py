"""A run that has become infinite stops and says where; its last checkpoint, if it has one, stays."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..data import Batch
from ..dynamics.run_folder import CHECKPOINTS
from .config import Config
from .order import epoch_order
from .out import run_folder
from .session import NEVER, Session

SHOWN = 8


class NonFiniteError(ArithmeticError):
    """The network or the loss returned NaN or infinity."""


def check_now(session: Session, values: Tensor, batch: Batch, number: int | Tensor, what: str) -> None:
    """Raise at once on a CPU, where looking is free, unless the step is one to be captured.

    A sum that is finite has only finite terms, so that most of the time the terms need not be looked at.
    """
    if session.device.type != "cpu" or isinstance(number, Tensor):
        return
    if math.isfinite(float(values.detach().sum())) or bool(values.detach().isfinite().all()):
        return
    rows = values.detach().isfinite().reshape(len(values), -1).all(1) if values.dim() else None
    index = batch.index if rows is None else batch.index[~rows]
    raise _error(session, what, session.epoch, number, index)


def note_health(session: Session, logits: Tensor, loss: Tensor, number: int | Tensor) -> None:
    """Keep the number of the first bad batch on the device, without waiting for it, in few kernels.

    A sum is finite where all its terms are, or they are so large that training is lost as well. Where
    ``check_now`` has looked there is nothing to note.
    """
    if session.device.type == "cpu" and not isinstance(number, Tensor):
        return
    total = logits.detach().sum() + loss.detach()
    first = torch.where(total - total == 0, session.first_bad, number)
    torch.minimum(session.first_bad, first, out=session.first_bad)


def check_health(session: Session) -> None:
    """Read the flag of the device: once per epoch, and before anything is saved."""
    place = int(session.first_bad)
    if place < NEVER:
        order = epoch_order(session.train.index, seed=session.config.seed, epoch=session.epoch)
        start, stop = session.bounds[place]
        raise _error(session, "logits or loss", session.epoch, place, session.train.index[order[start:stop]])


def _error(session: Session, what: str, epoch: int, batch: int, index: Tensor) -> NonFiniteError:
    numbers = index.tolist()
    shown = ", ".join(map(str, numbers[:SHOWN])) + (", ..." if len(numbers) > SHOWN else "")
    step = (epoch - 1) * len(session.bounds) + batch + 1
    return NonFiniteError(
        f"the {what} became infinite or NaN in epoch {epoch}, step {step}, with samples {shown}: lower lr"
        f" ({session.config.lr:g}), set clip (5 is common) or look at these samples"
        f"{_what_is_left(session.config)}"
    )


def _what_is_left(config: Config) -> str:
    """Where other settings may go, unless a folder of their own is found for them, and what is kept."""
    folder, usual = run_folder(config), run_folder(config.replace(out=None))
    elsewhere = (
        "" if folder.name.startswith(usual.name) else f"; other settings need another --out than {folder}"
    )
    is_saved = any((folder / CHECKPOINTS).glob("*.json"))
    return elsewhere + ("; the last checkpoint is intact" if is_saved else "")
