"""A buffer that records several training steps together.

On a GPU each step is recorded separately, so that it can be captured. On a CPU this takes about twenty small
operations, more time than the loss of a small network, so several steps are recorded together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from ..data import Batch
from ..dynamics import EmphasisMeter
from ..dynamics.epoch_table import EpochTable

MAX_LOGITS = 1 << 20
"""Number of logits at which the buffer is flushed: 8 MB with their gradients."""


class Step(NamedTuple):
    """The values recorded for one step."""

    batch: Batch
    logits: Tensor
    gradient: Tensor
    loss: Tensor
    lr: float
    extra: Mapping[str, Tensor]


class RecordBuffer:
    """Stores steps until ``flush`` records them; the record does not depend on when that happens."""

    def __init__(self, recorder: EpochTable, meter: EmphasisMeter) -> None:
        self.recorder, self.meter = recorder, meter
        self._steps: list[Step] = []
        self._size = 0

    def add(self, step: Step) -> None:
        self._steps.append(step)
        self._size += step.logits.numel()
        if self._size >= MAX_LOGITS:
            self.flush()

    def flush(self) -> None:
        """Record the buffered steps."""
        steps, self._steps, self._size = self._steps, [], 0
        if not steps:
            return
        index = torch.cat([step.batch.index for step in steps])
        label = torch.cat([step.batch.label for step in steps])
        logits = torch.cat([step.logits for step in steps])
        sizes = [len(step.logits) for step in steps]
        shares = torch.tensor([size / 2 for size in sizes]).repeat_interleave(torch.tensor(sizes))
        gradient = torch.cat([step.gradient for step in steps])
        # the gradient is that of the mean loss, the emphasis that of the loss of each sample
        emphasis = gradient.abs().sum(1, dtype=torch.float64) * shares
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
    """``losses.margin`` without validation of the labels, which ``LabelledData`` has validated.

    Shape:
        logits (B, C), label (B,); result (B,)
    Example:
        >>> plain_margin(torch.tensor([[2.0, 0.0, -torch.inf]]), torch.tensor([0]))
        tensor([2.])
    """
    own = label.unsqueeze(1)
    others = logits.scatter(1, own, -torch.inf).logsumexp(1)
    return logits.gather(1, own).squeeze(1) - others
