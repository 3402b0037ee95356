"""Per-sample memory of methods: a table with one row per training sample, by permanent index."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from ..data import Batch
from ..dynamics.rows import Rows
from ..kernels import values_can_be_checked
from .base import Method, TrainingInfo, check_one_process, not_prepared
from .probabilities import one_hot


class SampleTable(nn.Module):
    """A table with one row per sample, stored as a buffer and hence in every checkpoint.

    Reading and writing do not synchronise with the device. A sample that is not in the training data is a
    ValueError on a CPU; on a GPU it is not checked.

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
        """Write rows, or with ``at`` only this entry of their second dimension."""
        part = self.values if at is None else self.values[:, at]
        part[self.row(index)] = values.detach().to(self.values.dtype)

    def row(self, index: Tensor) -> Tensor:
        if values_can_be_checked(index):
            self.rows.check(index)
        return self.rows.of(index)


class MemoryMethod(Method):
    """A method with a table of samples, which ``prepare`` creates by ``create_table``."""

    one_process = True
    table: SampleTable | None
    target_probability: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.table = self.target_probability = None

    def create_table(self, info: TrainingInfo, values: Tensor) -> None:
        self.table = SampleTable(info.index, values)
        self._warn_if_never_begun(info.epochs)

    def is_active(self, epoch: int) -> bool:
        """Whether the method is active in this epoch; before, it uses only a loss."""
        return True

    def _warn_if_never_begun(self, epochs: int) -> None:
        if not any(self.is_active(epoch) for epoch in range(1, epochs + 1)):
            period = " or period" if hasattr(self, "period") else ""
            warnings.warn(
                f"{self} is never active in {epochs} epochs: train longer, or set a smaller start{period}",
                stacklevel=2,
            )

    @property
    def memory(self) -> SampleTable:
        if self.table is None:
            raise not_prepared(self)
        check_one_process(self)
        return self.table

    def record_target_probability(self, batch: Batch) -> None:
        """Store the probability of the given labels in the memory, for ``observed``.

        For methods whose table contains a distribution per sample, not necessarily normalised, and that have
        ``target_probability`` among their columns.
        """
        target = self.memory.read(batch.index)
        own = target.gather(1, batch.label.unsqueeze(1)).squeeze(1)
        self.target_probability = own / target.sum(1).clamp_min(torch.finfo(target.dtype).tiny)

    def observed(self) -> dict[str, Tensor]:
        return {} if self.target_probability is None else {"target_probability": self.target_probability}


class TargetMemory(MemoryMethod):
    """A method with a target distribution q for every sample, initially the given label.

    Shape:
        memory (N, C) float32
    """

    def prepare(self, info: TrainingInfo) -> None:
        self.create_table(info, one_hot(info.label, info.num_classes))

    def corrected_labels(self) -> Tensor:
        """(N,) likeliest class of every target, in the order of the training data."""
        return self.memory.values.argmax(1)

    def final_outputs(self) -> dict[str, Tensor]:
        """``target`` (N, C), in the order of the training data."""
        return {"target": self.memory.values.half()}

    def updated_targets(self, index: Tensor, p: Tensor, momentum: float) -> Tensor:
        r""":math:`\alpha q + (1-\alpha) p` for these samples; nothing is written."""
        return torch.lerp(p.detach().to(self.memory.values.dtype), self.memory.read(index), momentum)
