r"""The margin and its companions: the one operator every loss stands on.

.. math:: \Delta = z_y - \log\sum_{j\ne y} e^{z_j}, \qquad p_y = \mathrm{sigmoid}(\Delta), \qquad
    \nabla_z\Delta = e_y - \mathrm{softmax}_{j\ne y}(z)
"""

import torch
from torch import Tensor

from ..kernels import Statistics, statistics_rows
from .finite import check_margins
from .margin_loss import MarginLoss
from .rows import Rows, as_rows


def margin(logits: Tensor, target: Tensor, *, ignore_index: int = -100) -> Tensor:
    r"""Soft margin of the label over all other classes.

    Args:
        logits: (N, C), (C,) or (N, C, d1, ...). A class other than the label may be masked with -inf.
        target: class indices, the shape of the logits without the class dimension.
        ignore_index: targets with this value get margin 0 with zero gradient.

    Returns:
        :math:`\Delta` of the target's shape; float32 for half precision logits. Differentiable twice.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0, 0.0]])
        >>> delta = margin(logits, torch.tensor([0]))
        >>> delta, torch.sigmoid(delta), logits.softmax(1)[:, 0]
        (tensor([1.3069]), tensor([0.7870]), tensor([0.7870]))
    """
    rows = _hard_rows(logits, target, ignore_index)
    return row_margins(rows).reshape(rows.shape)


def row_margins(rows: Rows) -> Tensor:
    """(N,), 0 where ignored."""
    margins = _ITSELF.hard_rows(rows)
    check_margins(margins.detach(), rows.logits, rows.target)
    return margins


class _Itself(MarginLoss):
    """What every curve is a function of; being a loss, it is compiled as all others are."""

    name = "margin"

    def value(self, margin: Tensor) -> Tensor:
        return margin

    def emphasis(self, margin: Tensor) -> Tensor:
        return torch.full_like(margin, -1.0)


_ITSELF = _Itself()


def row_statistics(logits: Tensor, target: Tensor, *, ignore_index: int = -100) -> Statistics:
    r"""``margin``, ``logsumexp``, :math:`\sum z`, :math:`\sum p^2` and :math:`\sum p z` of every row.

    Each has the shape of ``target``, is differentiable, and is 0 with zero gradient where ignored.
    A class masked with -inf counts as absent.

    Example:
        >>> row_statistics(torch.zeros(1, 4), torch.tensor([2])).sum_p2
        tensor([0.2500])
    """
    rows = _hard_rows(logits, target, ignore_index)
    if rows.keep is None:
        statistics = statistics_rows(rows.logits, rows.target)
    else:
        kept = torch.where(rows.keep.unsqueeze(1), rows.logits, 0.0)
        found = statistics_rows(kept, rows.target)
        statistics = Statistics(*(torch.where(rows.keep, column, 0.0) for column in found))
    check_margins(statistics.margin, rows.logits, rows.target)
    return Statistics(*(column.reshape(rows.shape) for column in statistics))


def _hard_rows(logits: Tensor, target: Tensor, ignore_index: int) -> Rows:
    if target.is_floating_point():
        raise TypeError(f"target must hold class indices (integers), got {target.dtype}")
    return as_rows(logits, target, ignore_index)
