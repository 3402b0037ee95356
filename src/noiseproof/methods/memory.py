"""Memory of methods: one row of numbers for every training sample, found by its permanent index."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from ..data import Batch
from ..dynamics.rows import Rows
from ..kernels import values_can_be_checked
from .base import Method, Situation, check_one_process, unprepared
from .probabilities import one_hot


class SampleTable(nn.Module):
    """Numbers of every sample; they are a buffer, hence in every checkpoint.

    Reading and writing never wait for the device. A sample that is not in the training data is named
    where looking is free, that is on a CPU.

    Shape:
        index (N,), values (N, ...)
    Example:
        >>> table = SampleTable(torch.tensor([7, 3]), torch.zeros(2, 2))
        >>> table.write(torch.tensor([3]), torch.ones(1, 2))
        >>> table.read(torch.tensor([3, 7]))
        tensor([[1., 1.],
                [0., 0.]])
    """

    values: Tensor

    def __init__(self, index: Tensor, values: Tensor) -> None:
        super().__init__()
        self.rows = Rows(index)
        self.register_buffer("values", values)

    def read(self, index: Tensor) -> Tensor:
        return self.values[self.row(index)]

    def write(self, index: Tensor, values: Tensor, at: int | None = None) -> None:
        """``at`` names one entry of the second dimension, if only that is written."""
        part = self.values if at is None else self.values[:, at]
        part[self.row(index)] = values.detach().to(self.values.dtype)

    def row(self, index: Tensor) -> Tensor:
        if values_can_be_checked(index):
            self.rows.check(index)
        return self.rows.of(index)


class MemoryMethod(Method):
    """A method with a table; ``prepare`` fills it through ``remember``."""

    one_process = True
    table: SampleTable | None
    believed: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.table = self.believed = None

    def remember(self, situation: Situation, values: Tensor) -> None:
        self.table = SampleTable(situation.index, values)
        self._warn_if_never_begun(situation.epochs)

    def begun(self, epoch: int) -> bool:
        """Whether the method is active in this epoch; before, it is little but a loss."""
        return True

    def _warn_if_never_begun(self, epochs: int) -> None:
        if not any(self.begun(epoch) for epoch in range(1, epochs + 1)):
            period = " or period" if hasattr(self, "period") else ""
            warnings.warn(
                f"{self} never begins in {epochs} epochs: train longer, or give it a smaller start{period}",
                stacklevel=2,
            )

    @property
    def memory(self) -> SampleTable:
        if self.table is None:
            raise unprepared(self)
        check_one_process(self)
        return self.table

    def believe(self, batch: Batch) -> None:
        """Keep the share of the memory that the given labels of a batch have, for ``observed``.

        For methods whose table holds a distribution per sample, perhaps not of mass 1, and that name
        ``target_probability`` among their columns.
        """
        target = self.memory.read(batch.index)
        own = target.gather(1, batch.label.unsqueeze(1)).squeeze(1)
        self.believed = own / target.sum(1).clamp_min(torch.finfo(target.dtype).tiny)

    def observed(self) -> dict[str, Tensor]:
        return {} if self.believed is None else {"target_probability": self.believed}


class TargetMemory(MemoryMethod):
    """A method that keeps a target distribution q for every sample, at first the given label.

    Shape:
        memory (N, C) float32
    """

    def prepare(self, situation: Situation) -> None:
        self.remember(situation, one_hot(situation.label, situation.num_classes))

    def corrected_labels(self) -> Tensor:
        """The most likely class of every target, (N,), in the order of the training data."""
        return self.memory.values.argmax(1)

    def final_outputs(self) -> dict[str, Tensor]:
        """``target`` (N, C), in the order of the training data."""
        return {"target": self.memory.values.half()}

    def moved(self, index: Tensor, p: Tensor, momentum: float) -> Tensor:
        r""":math:`\alpha q + (1-\alpha) p` for these samples; nothing is written."""
        return torch.lerp(p.detach().to(self.memory.values.dtype), self.memory.read(index), momentum)
