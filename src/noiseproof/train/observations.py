"""What steps leave to be recorded.

On a GPU a step records itself, so that it can be captured. On a CPU that would be some twenty operations on a
few numbers each, which cost more than the loss of a small network; there several steps are recorded together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from ..data import Batch
from ..dynamics import EmphasisMeter, Recorder

MOST = 1 << 20
"""Logits that are kept before they are recorded: 8 MB with their gradients."""


class Observed(NamedTuple):
    """One step."""

    batch: Batch
    logits: Tensor
    gradient: Tensor
    loss: Tensor
    lr: float
    extra: Mapping[str, Tensor]


class Observations:
    """Steps that wait to be recorded; ``settle`` records them.

    What is recorded does not depend on when ``settle`` is called, not even in its last bit.
    """

    def __init__(self, recorder: Recorder, meter: EmphasisMeter) -> None:
        self.recorder, self.meter = recorder, meter
        self._waiting: list[Observed] = []
        self._size = 0

    def add(self, step: Observed) -> None:
        self._waiting.append(step)
        self._size += step.logits.numel()
        if self._size >= MOST:
            self.settle()

    def settle(self) -> None:
        """Record what waits."""
        steps, self._waiting, self._size = self._waiting, [], 0
        if not steps:
            return
        index = torch.cat([step.batch.index for step in steps])
        label = torch.cat([step.batch.label for step in steps])
        logits = torch.cat([step.logits for step in steps])
        sizes = [len(step.logits) for step in steps]
        shares = torch.tensor([size / 2 for size in sizes]).repeat_interleave(torch.tensor(sizes))
        gradient = torch.cat([step.gradient for step in steps])
        emphasis = (
            gradient.abs().sum(1, dtype=torch.float64) * shares
        )  # of the sample's own loss, not the mean
        extra = {name: torch.cat([step.extra[name] for step in steps]) for name in steps[0].extra}
        self.meter.add_steps(
            index,
            sizes,
            emphasis=emphasis,
            losses=torch.stack([step.loss for step in steps]).tolist(),
            rates=[step.lr for step in steps],
        )
        self.recorder.write(
            index, plain_margin(logits, label), logits.argmax(1), {"emphasis": emphasis, **extra}
        )


def plain_margin(logits: Tensor, label: Tensor) -> Tensor:
    """``losses.margin`` of labels that were checked when the data was made, without looking at them again.

    Shape:
        logits (B, C), label (B,); result (B,)
    Example:
        >>> plain_margin(torch.tensor([[2.0, 0.0, -torch.inf]]), torch.tensor([0]))
        tensor([2.])
    """
    own = label.unsqueeze(1)
    others = logits.scatter(1, own, -torch.inf).logsumexp(1)
    return logits.gather(1, own).squeeze(1) - others
