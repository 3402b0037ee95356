"""Several networks that predict together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Ensemble(nn.Module):
    r"""Networks that predict the mean of their probabilities.

    Logits:
        :math:`z = \log\frac1n\sum_k \mathrm{softmax}(z_k)`, so that softmax(z) is that mean
    Shape:
        input as each network takes it; logits (N, C)
    Example:
        >>> one, two = nn.Linear(2, 3), nn.Linear(2, 3)
        >>> x = torch.ones(1, 2)
        >>> mean = (one(x).softmax(1) + two(x).softmax(1)) / 2
        >>> bool(torch.allclose(Ensemble(one, two)(x).softmax(1), mean))
        True
    """

    def __init__(self, *networks: nn.Module) -> None:
        super().__init__()
        if len(networks) < 2:
            raise ValueError(f"an ensemble has two networks or more, got {len(networks)}")
        self.networks = nn.ModuleList(networks)

    def forward(self, x: Tensor) -> Tensor:
        return mean_logits([network(x) for network in self.networks])

    def check_different(self) -> None:
        """ValueError if two networks have the same weights, so that they would always agree."""
        first, *others = [list(network.parameters()) for network in self.networks]
        for other in others:
            pairs = list(zip(first, other, strict=False))
            if len(first) == len(other) and all(one.equal(two) for one, two in pairs):
                raise ValueError(
                    "two networks start from the same weights and would always agree: train without"
                    " weights=..., or give an Ensemble of two different networks as model=..."
                )


def mean_logits(logits: Sequence[Tensor]) -> Tensor:
    """The log of the mean of probabilities; logits alone come back as they are.

    Shape:
        logits (N, C) each; result (N, C)
    """
    if len(logits) == 1:
        return logits[0]
    log_p = torch.stack([one.float().log_softmax(1) for one in logits])
    return log_p.logsumexp(0) - math.log(len(logits))
