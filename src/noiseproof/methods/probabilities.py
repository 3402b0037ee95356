"""Functions of probabilities in log space that methods share."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels import accumulation_dtype, check_logits_finite
from ..losses.rows import check_logits


def log_probabilities(logits: Tensor) -> Tensor:
    """Log softmax of (B, C) logits, in float32 for half precision; ValueError for nan and inf on a CPU.

    >>> log_probabilities(torch.tensor([[1e4, 0.0]]))
    tensor([[     0., -10000.]])
    """
    check_logits(logits)
    check_logits_finite(logits)
    return torch.log_softmax(logits.to(accumulation_dtype(logits.dtype)), 1)


def one_hot(label: Tensor, classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """One-hot labels (B, C); unlike that of torch, it does not synchronise with the device.

    >>> one_hot(torch.tensor([1, 0]), 3)
    tensor([[0., 1., 0.],
            [1., 0., 0.]])
    """
    return (label.unsqueeze(1) == torch.arange(classes, device=label.device)).to(dtype)


def soft_cross_entropy(log_p: Tensor, target: Tensor) -> Tensor:
    r""":math:`-\sum_k q_k\log p_k` for targets q (B, C)."""
    return -(target * log_p).sum(1)


def entropy(log_p: Tensor) -> Tensor:
    r""":math:`-\sum_k p_k\log p_k`."""
    return soft_cross_entropy(log_p, log_p.exp())


def soft_rce(p: Tensor, log_target: Tensor, A: float) -> Tensor:
    r"""Reverse cross entropy with soft targets, :math:`-\sum_k p_k\max(\log q_k, A)`.

    A one-hot target gives the loss ``rce(A)``: :math:`-A(1-p_y)`.

    >>> log_target = torch.tensor([[0.0, -torch.inf]])
    >>> soft_rce(torch.tensor([[0.25, 0.75]]), log_target, A=-4.0)
    tensor([3.])
    """
    return -(p * log_target.clamp_min(A)).sum(1)


def take_labels(rows: Tensor, label: Tensor) -> Tensor:
    """(B,) the entry of each row at its label."""
    return rows.gather(1, label.unsqueeze(1)).squeeze(1)
