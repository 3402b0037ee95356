"""Statistics of columns that only some methods record."""

from __future__ import annotations

from torch import Tensor

from ..record import Record
from .blocks import Block, last_seen, over_blocks

COLUMNS = {"tau": "tau", "memory_disagreement": "target_probability"}
"""The column of the record that each statistic reads."""


def tau(record: Record) -> Tensor:
    """NAL's attention at the last visit, near 1 for labels that it considers correct, (N,) float32.

    Example:
        >>> import torch
        >>> from noiseproof.dynamics import Record
        >>> zero, column = torch.zeros(2, dtype=torch.int64), torch.tensor([[0.5, 0.25]]).half()
        >>> columns = {"tau": column, "target_probability": column}
        >>> record = Record(torch.arange(2), zero, None, ("a", "b"), column, zero.int()[None], columns)
        >>> tau(record), memory_disagreement(record)
        (tensor([0.5000, 0.2500]), tensor([0.5000, 0.7500]))

    Reference:
        Lu, Bo & He, Noise Attention Learning: Enhancing Noise Robustness by Gradient Scaling, NeurIPS 2022
    """
    return _last(record, COLUMNS["tau"])


def memory_disagreement(record: Record) -> Tensor:
    """1 - q_y at the last visit, where q_y is the target memory of a method for the given label.

    Reference:
        Liu et al., Early-Learning Regularization Prevents Memorization of Noisy Labels, NeurIPS 2020
    """
    return 1 - _last(record, COLUMNS["memory_disagreement"])


def _last(record: Record, column: str) -> Tensor:
    if column not in record.extra:
        known = ", ".join(["margin", "prediction", *record.extra])
        raise ValueError(
            f"the record has no column {column!r}: its method does not write it (columns: {known})"
        )
    values = Record(
        record.index, record.label, None, record.class_names, record.extra[column], record.prediction
    )

    def last(block: Block) -> Tensor:
        return block.margin.gather(0, last_seen(block.seen)[-1:]).squeeze(0)

    return over_blocks(values, last)
