"""Load the inputs of a run, to show suspects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data import LabelledData, load
from ..data.inputs import raw_rows, select
from ..dynamics import RunFolder
from ..labels.run_data import training_data
from .evidence import Evidence, NotAvailableError

CHANNELS = (1, 3)
MIN_IMAGE_SIDE = 4
"""Minimum side in pixels of an input that is shown as an image."""


class Inputs:
    """Training inputs by permanent sample number.

    Example:
        >>> inputs = Inputs(LabelledData(torch.rand(3, 1, 8, 8), [0, 1, 0], index=[5, 7, 9]))
        >>> inputs.read([7, 5]).shape, inputs.are_images
        (torch.Size([2, 1, 8, 8]), True)
    """

    def __init__(self, data: LabelledData) -> None:
        self.data = data
        self.row_of = {number: position for position, number in enumerate(data.index.tolist())}
        self.are_images = is_image_shape(data.sample_shape)

    def read(self, index: Sequence[int]) -> Tensor:
        """Inputs of the samples with these permanent numbers."""
        return self.data.batch(self._positions(index)).input

    def cells(self, number: int) -> list[tuple[str, str]] | None:
        """Column names and cells of a row of a table, or its text; None if inputs are numbers."""
        rows = self.data.inputs if self.data.raw is None else self.data.raw
        found: Any = raw_rows(select(rows, np.array(self._positions([number]))))
        if hasattr(found, "columns"):
            return [(str(name), str(found[name].iloc[0])) for name in found.columns]
        return [("text", str(found[0]))] if isinstance(found, list) else None

    def file(self, number: int) -> str | None:
        """The file of a sample; None if it has no file of its own."""
        position, inputs = self._positions([number])[0], self.data.inputs
        rows = getattr(inputs, "rows", None)
        if isinstance(rows, np.ndarray):
            position, inputs = int(rows[position]), getattr(inputs, "base", None)  # type: ignore[assignment]
        paths = getattr(inputs, "paths", None)
        return str(paths[position]) if isinstance(paths, list) else None

    def _positions(self, index: Sequence[int]) -> list[int]:
        missing = [number for number in index if number not in self.row_of]
        if missing:
            raise NotAvailableError(
                f"sample {missing[0]} of the run is not in the data: they have changed since training"
            )
        return [self.row_of[number] for number in index]


def inputs_of(evidence: Evidence, data: LabelledData | str | None = None) -> Inputs:
    """The inputs of a run, from ``data`` or from the source named in its settings."""
    if data is None and evidence.settings.get("data") is None:
        raise NotAvailableError("the source of the inputs is not known: pass data=...")
    try:
        return Inputs(load(data)) if data is not None else Inputs(_trained_on(evidence))
    except (OSError, ValueError, TypeError, ImportError) as problem:
        raise NotAvailableError(f"the inputs cannot be loaded: {problem}") from None


def _trained_on(evidence: Evidence) -> LabelledData:
    if isinstance(evidence.run, RunFolder):
        return training_data(evidence.run)
    raise NotAvailableError("a record without a run has no inputs: pass data=...")


def is_image_shape(shape: tuple[int, ...]) -> bool:
    """Whether a shape is (C, H, W) with one or three channels, or (H, W).

    Example:
        >>> [is_image_shape(shape) for shape in ((3, 32, 32), (28, 28), (64,), (8, 2, 2))]
        [True, True, False, False]
    """
    if len(shape) == 3 and shape[0] not in CHANNELS:
        return False
    return len(shape) in (2, 3) and min(shape[-2:]) >= MIN_IMAGE_SIDE


def pixels(image: Tensor) -> NDArray[np.uint8]:
    """One image as (H, W, 3) uint8; floats outside [0, 1] are rescaled to this range.

    Example:
        >>> pixels(torch.tensor([[[0.0, 1.0]]])).tolist()
        [[[0, 0, 0], [255, 255, 255]]]
    """
    values = image.detach().cpu()
    values = values.unsqueeze(0) if values.dim() == 2 else values
    if values.dtype != torch.uint8:
        low, high = float(values.min()), float(values.max())
        low, high = (0.0, 1.0) if low >= 0 and high <= 1 else (low, max(high, low + 1e-12))
        values = ((values.float() - low) / (high - low) * 255).round().to(torch.uint8)
    found: NDArray[np.uint8] = values.expand(3, -1, -1).permute(1, 2, 0).contiguous().numpy()
    return found
