"""``LabelledData``: inputs with labels that may be wrong, and permanent sample numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..features import Features
from ..memory import on_the_cpu
from .class_labels import (
    as_class_numbers,
    check_class_range,
    checked_names,
    numbers_and_names,
    numbers_of_names,
    refuse_label_column,
)
from .duplicates import Duplicate, Pairs, check_policy, report_duplicates
from .images import BrokenFile
from .inputs import (
    Batch,
    Inputs,
    Positions,
    RawInputs,
    as_inputs,
    as_positions,
    check_finite,
    check_index,
    check_inputs,
    check_no_repeats,
    check_values,
    raw_rows,
    read_rows,
    select,
    settings_of,
    streams,
    warn_of_empty_classes,
)

__all__ = ["Duplicate", "find_duplicates"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LabelledData:
    """Inputs, given labels and, if known, clean labels.

    ``inputs`` are not converted: a tensor, a numpy array (also a memory map) or an object that reads rows on
    demand, so data may be larger than memory. A DataFrame, a list of strings and a sparse matrix are encoded
    by training with ``noiseproof.features.Features``, fitted on its own rows. Labels may be class numbers or
    names. Everything is validated once, here: label range and dtype, lengths, and finite inputs (streamed
    inputs are checked when they are read).

    ``duplicates`` is the policy for inputs that are equal byte for byte: "warn" and "error" search all data,
    "ignore" does not search. By default there is a warning of equal inputs under *different* labels, for data
    in memory up to 256 MiB and half a million samples, which takes less than a second; constant inputs, such
    as empty images, are ignored. ``find_duplicates`` lists all.

    Shape:
        inputs (N, ...), label and clean_label (N,) int64, groups (K,) int64, index (N,) int64
    Example:
        >>> data = LabelledData(torch.rand(4, 2), [0, 1, 1, 0], class_names=["cat", "dog"])
        >>> data
        LabelledData(4 samples, 2 classes)
        >>> data.subset([3, 1]).batch([0]).index
        tensor([3])
        >>> data.with_labels([1, 1, 1, 0]).inputs is data.inputs
        True
    """

    inputs: Inputs
    label: Tensor
    """Given labels, which may be wrong."""
    clean_label: Tensor | None
    """True labels, if known; for metrics only."""
    class_names: tuple[str, ...]
    groups: Tensor | None
    """Superclass of each class."""
    index: Tensor
    """Permanent number of each sample, which subsets keep."""
    name: str
    skipped: tuple[BrokenFile, ...]
    """Files that could not be read and were skipped by ``on_error="skip"``."""
    columns: tuple[str, ...]
    """Names of the values of an input, if it is a row of a table."""
    features: Features | None
    """The Features that encoded the inputs, if any."""
    raw: Inputs | None
    """The rows before encoding, in memory."""

    def __init__(
        self,
        inputs: Any,
        label: object,
        *,
        clean_label: object = None,
        class_names: Sequence[str] | None = None,
        groups: object = None,
        index: object = None,
        name: str = "",
        skipped: Sequence[BrokenFile] = (),
        columns: Sequence[str] = (),
        features: Features | None = None,
        duplicates: str | None = None,
    ) -> None:
        with on_the_cpu():
            rows = as_inputs(inputs)
            refuse_label_column(rows, label)
            numbers = None if index is None else as_class_numbers(index, "index")
            given, clean, class_names = numbers_and_names(label, clean_label, class_names, numbers)
            numbers = torch.arange(len(given)) if numbers is None else numbers
            names = rows.columns if isinstance(rows, RawInputs) else columns
            self._set(
                inputs=rows,
                label=given,
                clean_label=clean,
                class_names=checked_names(class_names),
                groups=None if groups is None else as_class_numbers(groups, "groups"),
                index=numbers,
                name=name,
                skipped=tuple(skipped),
                columns=tuple(names),
                features=features,
                raw=None,
            )
            self.validate(duplicates)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _changed(self, **changes: object) -> LabelledData:
        """A copy with changed attributes, which is not validated again."""
        new = object.__new__(type(self))
        new._set(**{field.name: getattr(self, field.name) for field in fields(self)} | changes)
        return new

    def validate(self, duplicates: str | None = None) -> None:
        """TypeError or ValueError for invalid data; warns of classes without samples."""
        check_policy(duplicates)
        check_inputs(self.inputs)
        if len(self.label) == 0:
            raise ValueError("there are no samples: label is empty")
        if len(self.inputs) != len(self.label):
            raise ValueError(f"{len(self.inputs)} inputs and {len(self.label)} labels: one label per input")
        check_index(self.index, len(self))
        check_values(self.inputs, self.index)
        self._check_labels(self.label, "label")
        if self.clean_label is not None:
            self._check_labels(self.clean_label, "clean_label")
        if self.groups is not None and len(self.groups) != self.num_classes:
            raise ValueError(f"groups has {len(self.groups)} entries for {self.num_classes} classes")
        warn_of_empty_classes(self.label, self.class_names)
        report_duplicates(self.inputs, self.label, self.index, self.class_names, duplicates, stacklevel=4)

    def _check_labels(self, labels: Tensor, what: str) -> None:
        if len(labels) != len(self):
            raise ValueError(f"{what} has {len(labels)} entries for {len(self)} samples")
        check_class_range(labels, self.num_classes, what, self.index)

    def __len__(self) -> int:
        return len(self.label)

    def __repr__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        return f"LabelledData({name}{len(self)} samples, {self.num_classes} classes)"

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one input; reads the first input."""
        return tuple(self.batch([0]).input.shape[1:])

    def with_labels(self, label: object, *, clean_label: object = None) -> LabelledData:
        """The same inputs, not copied, with new given labels and optionally new clean labels."""
        changes: dict[str, Any] = {"label": numbers_of_names(label, self.class_names)}
        if clean_label is not None:
            changes["clean_label"] = numbers_of_names(clean_label, self.class_names, "clean_label")
        for what, labels in changes.items():
            self._check_labels(labels, what)
        return self._changed(**changes)

    def with_classes(self, names: Sequence[str]) -> LabelledData:
        """The same samples with other class names, which must include the classes of all samples."""
        number_of = {name: number for number, name in enumerate(names)}
        number = torch.tensor([number_of.get(name, -1) for name in self.class_names])
        clean = None if self.clean_label is None else number[self.clean_label]
        return self._changed(
            label=number[self.label], clean_label=clean, class_names=tuple(names), groups=None
        )

    def subset(self, indices: Positions) -> LabelledData:
        """The samples at these positions, with their permanent numbers; inputs are not copied.

        Positions must be unique, as permanent numbers are.
        """
        rows = as_positions(indices, len(self))
        check_no_repeats(rows)
        at = torch.from_numpy(rows).to(self.label.device)
        clean = None if self.clean_label is None else self.clean_label[at]
        return self._changed(
            inputs=select(self.inputs, rows),
            raw=None if self.raw is None else select(self.raw, rows),
            label=self.label[at],
            clean_label=clean,
            index=self.index[at],
        )

    @property
    def is_raw(self) -> bool:
        """Whether inputs are rows of a table or texts that are not encoded yet."""
        return raw_rows(self.inputs) is not None

    def fit_features(self) -> Features:
        """Features fitted on these rows."""
        return Features(**settings_of(self.inputs)).fit(raw_rows(self.inputs))

    def as_numbers(self, columns: Sequence[str] = ()) -> LabelledData:
        """The same samples with the numbers of these columns, or of all, as inputs, without Features."""
        rows: Any = raw_rows(self.inputs)
        names = list(columns or self.columns)
        if missing := [name for name in names if name not in self.columns]:
            have = ", ".join(self.columns)
            raise ValueError(f"the table has no column {missing[0]!r}; its columns are {have}")
        try:
            matrix = rows[names].to_numpy(np.float32)
        except (TypeError, ValueError):
            raise ValueError(
                "rows contain values that are not numbers: arrays of numbers are expected"
            ) from None
        return self._changed(inputs=torch.from_numpy(matrix), columns=tuple(names), raw=self.inputs)

    def encoded(self, features: Features) -> LabelledData:
        """The same samples with inputs encoded by ``features``; ``raw`` keeps the original rows."""
        rows = raw_rows(self.inputs)
        matrix = features.transform(self.batch(slice(None)).input if rows is None else rows)
        inputs = torch.from_numpy(matrix)
        kept = None if rows is None else self.inputs
        return self._changed(inputs=inputs, columns=tuple(features.names), features=features, raw=kept)

    def batch(self, indices: Positions, *, device: torch.device | str | None = None) -> Batch:
        """The samples at these positions.

        Positions on an accelerator are not checked, which avoids host synchronisation.
        """
        if isinstance(indices, Tensor) and indices.device.type != "cpu" and isinstance(self.inputs, Tensor):
            return Batch(self.inputs[indices], self.label[indices], self.index[indices])
        rows = as_positions(indices, len(self))
        at = torch.from_numpy(rows).to(self.label.device)
        batch = Batch(read_rows(self.inputs, rows), self.label[at], self.index[at])
        if streams(self.inputs):
            check_finite(batch.input, batch.index)
        return batch if device is None else batch.to(device)

    def to(self, device: torch.device | str) -> LabelledData:
        """All data read into the memory of a device."""
        everything = self.batch(slice(None), device=device)
        clean = None if self.clean_label is None else self.clean_label.to(device)
        return self._changed(
            inputs=everything.input, label=everything.label, clean_label=clean, index=everything.index
        )


def find_duplicates(data: LabelledData) -> list[Duplicate]:
    """All samples whose input equals an earlier one byte for byte, in order; reads all inputs once.

    Example:
        >>> import torch
        >>> data = LabelledData(torch.tensor([[1, 2], [3, 4], [1, 2]]), [0, 1, 1], duplicates="ignore")
        >>> print(*find_duplicates(data))
        sample 2 repeats sample 0 (labels 0 and 1)
    """
    inputs = data.inputs.cells() if isinstance(data.inputs, RawInputs) else data.inputs
    return Pairs.of(inputs).described(data.label, data.index)
