"""What a user's loss does, found by trying it on a few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..kernels import Statistics

if TYPE_CHECKING:
    from .margin_loss import MarginLoss
    from .statistics_loss import StatisticsLoss

CLASSES = 3
LOGITS = ((0.0, 1.0, -1.0), (2.0, 0.5, 0.0), (-1.0, 1.5, 1.0), (0.3, 0.1, 0.2))
SUMS = {"sum_z": "sum_z", "sum_p2": "squares", "sum_pz": "products"}
"""Sums of a row, and what ``Wanted`` calls them."""
CLOSE = 1e-9


def check_wanted(loss: StatisticsLoss) -> None:
    """ValueError if ``judge`` reads a sum that was not asked for, which in a kernel may be any number."""
    try:
        rows = _statistics()
        sound = _is_finite(loss, rows)
        read = [name for name in SUMS if sound and not _is_finite(loss, _without(rows, name))]
    except Exception:
        return  # what it needs is not here, say on another device
    for name in read:
        if not getattr(loss.wanted, SUMS[name]):
            raise ValueError(f"{loss}: judge reads {name}, which its wanted={loss.wanted} does not ask for")


def margins_meet(loss: MarginLoss) -> bool:
    """True if the loss of a margin depends on what else is in the batch."""
    margins = torch.linspace(-3.0, 4.0, 8, dtype=torch.float64, device="cpu")
    parts = [margins, *(margins[at : at + 1] for at in range(len(margins)))]
    return _meet(lambda part: loss.evaluate(part, num_classes=CLASSES, mass=1.0), parts)


def rows_meet(loss: StatisticsLoss) -> bool:
    """The same of a loss of row statistics."""
    rows = _statistics()
    alone = [Statistics(*(column[at : at + 1] for column in rows)) for at in range(len(LOGITS))]
    return _meet(lambda part: _judged(loss, part), [rows, *alone])


def _meet(judge: Callable[[Any], Sequence[Tensor]], parts: list[Any]) -> bool:
    """Whether the first, which is all others together, is judged otherwise than these."""
    try:
        together, *alone = (judge(part) for part in parts)
        each = [torch.cat(one) for one in zip(*alone, strict=True)]
        return not all(torch.allclose(*pair, CLOSE, CLOSE) for pair in zip(together, each, strict=True))
    except Exception:
        return False


def _statistics() -> Statistics:
    """Of a few rows whose label is class 0, as columns."""
    logits = torch.tensor(LOGITS, dtype=torch.float64, device="cpu")
    p = logits.softmax(1)
    rest = logits[:, 1:].logsumexp(1)
    columns = (
        logits[:, 0] - rest,
        logits.logsumexp(1),
        logits.sum(1),
        p.square().sum(1),
        (p * logits).sum(1),
    )
    return Statistics(*(column.unsqueeze(1) for column in columns))


def _without(rows: Statistics, name: str) -> Statistics:
    return rows._replace(**{name: torch.full_like(rows.margin, torch.nan)})


def _judged(loss: StatisticsLoss, rows: Statistics) -> list[Tensor]:
    value, partials = loss.judge(rows, torch.full_like(rows.margin, CLASSES))
    return [found.broadcast_to(rows.margin.shape) for found in (value, *partials.given())]


def _is_finite(loss: StatisticsLoss, rows: Statistics) -> bool:
    return all(bool(found.isfinite().all()) for found in _judged(loss, rows))
