"""``EpochTable``: margins and predictions of the current epoch, scattered into tensors on the device."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from .rows import Rows

MAX_FLOAT16 = torch.finfo(torch.float16).max
NOT_SEEN = -1
"""Prediction of a sample that an epoch did not visit; its other columns are NaN."""


class EpochTable:
    """Margin and prediction of every sample in the current epoch.

    ``write`` scatters one batch into tensors on the device, without host synchronisation or allocation of
    results, so it can be part of a CUDA graph. If a sample is visited twice, the last visit is kept.

    Shape:
        index (N,) permanent numbers of the training samples
    Example:
        >>> table = EpochTable(torch.tensor([4, 8]))
        >>> table.write(torch.tensor([8]), torch.tensor([1.5]), torch.tensor([3]))
        >>> epoch = table.epoch()
        >>> epoch["margin"], epoch["prediction"]
        (tensor([   nan, 1.5000], dtype=torch.float16), tensor([-1,  3], dtype=torch.int32))
    """

    def __init__(self, index: Tensor, extra: tuple[str, ...] = ()) -> None:
        self.rows = Rows(index)
        self.extra = extra
        size, device = len(index), index.device
        self.columns = {name: torch.full((size,), torch.nan, device=device) for name in ("margin", *extra)}
        self.prediction = torch.full((size,), NOT_SEEN, dtype=torch.int32, device=device)

    def write(
        self, index: Tensor, margin: Tensor, prediction: Tensor, extra: Mapping[str, Tensor] | None = None
    ) -> None:
        """Store margin, prediction and extra columns of a batch.

        Shape:
            index, margin, prediction and each extra column (B,)
        """
        at = self.rows.of(index)
        self.columns["margin"][at] = margin.detach().float()
        self.prediction[at] = prediction.int()
        for name in self.extra:
            self.columns[name][at] = (extra or {})[name].detach().float()

    def epoch(self) -> dict[str, Tensor]:
        """The columns as they are stored: clamped to float16, predictions as int32, on the CPU."""
        found = {
            name: values.clamp(-MAX_FLOAT16, MAX_FLOAT16).half().cpu()
            for name, values in self.columns.items()
        }
        return found | {"prediction": self.prediction.to("cpu", copy=True)}

    def reset(self) -> None:
        """Begin the next epoch."""
        for values in self.columns.values():
            values.fill_(torch.nan)
        self.prediction.fill_(NOT_SEEN)

    def state(self) -> dict[str, Tensor]:
        """All tensors, for a checkpoint within an epoch."""
        return {**self.columns, "prediction": self.prediction}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for name, values in self.state().items():
            values.copy_(state[name])
