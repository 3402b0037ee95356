"""What we learn from: inputs with labels that may be wrong, and a permanent number for each sample."""

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
    """Inputs, given labels and, where known, clean ones.

    ``inputs`` stay as they are given: a tensor, a numpy array (also a memory map) or an object that reads
    rows on demand, so data may be larger than memory. A DataFrame of any columns, a list of strings and a
    sparse matrix are taken too: training makes numbers of them with ``noiseproof.features.Features``, fitted
    on its own rows. Labels may be class numbers or names. Everything is validated once, here: label range
    and dtype, lengths, and finite inputs (those that are streamed are checked when they are read).

    ``duplicates`` says what happens when an input occurs twice, byte for byte: "warn" and "error" look
    through all of the data, "ignore" does not look. By default only the same input under *different* labels
    is warned of, and only in memory up to 256 MiB and half a million samples, which takes less than a second;
    inputs that are one value throughout, such as empty images, do not count. ``find_duplicates`` lists all.

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
    """Given labels, perhaps wrong."""
    clean_label: Tensor | None
    """The truth where it is known: for metrics only."""
    class_names: tuple[str, ...]
    groups: Tensor | None
    """Superclass of each class."""
    index: Tensor
    """Permanent number of each sample: a subset keeps it."""
    name: str
    skipped: tuple[BrokenFile, ...]
    """Files left out because they could not be read and ``on_error="skip"`` was asked for."""
    columns: tuple[str, ...]
    """Names of the values of an input, where it is a row of a table."""
    features: Features | None
    """What made numbers of the rows of a table, where that is done."""
    raw: Inputs | None
    """The rows from which ``features`` made the inputs, in memory."""

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
        """A copy that shares what is not changed and is not validated again."""
        new = object.__new__(type(self))
        new._set(**{field.name: getattr(self, field.name) for field in fields(self)} | changes)
        return new

    def validate(self, duplicates: str | None = None) -> None:
        """Raise for the first thing that is wrong, naming the sample; warn of classes without samples."""
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
        """Shape of one input; reads the first where inputs are files."""
        return tuple(self.batch([0]).input.shape[1:])

    def with_labels(self, label: object, *, clean_label: object = None) -> LabelledData:
        """The same inputs, not copied, under new given labels; clean labels stay unless given anew."""
        changes: dict[str, Any] = {"label": numbers_of_names(label, self.class_names)}
        if clean_label is not None:
            changes["clean_label"] = numbers_of_names(clean_label, self.class_names, "clean_label")
        for what, labels in changes.items():
            self._check_labels(labels, what)
        return self._changed(**changes)

    def with_classes(self, names: Sequence[str]) -> LabelledData:
        """The same samples, numbered by the classes ``names``, among which are those of all samples."""
        place = {name: number for number, name in enumerate(names)}
        number = torch.tensor([place.get(name, -1) for name in self.class_names])
        clean = None if self.clean_label is None else number[self.clean_label]
        return self._changed(
            label=number[self.label], clean_label=clean, class_names=tuple(names), groups=None
        )

    def subset(self, indices: Positions) -> LabelledData:
        """The samples at these positions, with the permanent indices they had; inputs are not copied.

        No position may occur twice: a permanent index names one sample.
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
        """Whether inputs are rows of a table or texts that Features must still make numbers of."""
        return raw_rows(self.inputs) is not None

    def fit_features(self) -> Features:
        """Features fitted on these rows alone."""
        return Features(**settings_of(self.inputs)).fit(raw_rows(self.inputs))

    def plain(self, columns: Sequence[str] = ()) -> LabelledData:
        """The same samples with the numbers of these columns, or of all, as inputs: nothing is fitted."""
        rows: Any = raw_rows(self.inputs)
        names = list(columns or self.columns)
        if missing := [name for name in names if name not in self.columns]:
            have = ", ".join(self.columns)
            raise ValueError(f"the table has no column {missing[0]!r}; its columns are {have}")
        try:
            matrix = rows[names].to_numpy(np.float32)
        except (TypeError, ValueError):
            raise ValueError("rows hold more than numbers, but arrays of numbers are expected") from None
        return self._changed(inputs=torch.from_numpy(matrix), columns=tuple(names), raw=self.inputs)

    def encoded(self, features: Features) -> LabelledData:
        """The same samples with inputs as ``features`` make them; ``raw`` keeps the rows as they came."""
        rows = raw_rows(self.inputs)
        matrix = features.transform(self.batch(slice(None)).input if rows is None else rows)
        inputs = torch.from_numpy(matrix)
        kept = None if rows is None else self.inputs
        return self._changed(inputs=inputs, columns=tuple(features.names), features=features, raw=kept)

    def batch(self, indices: Positions, *, device: torch.device | str | None = None) -> Batch:
        """The samples at these positions; nothing else is read.

        Positions on the same accelerator as all of the data are trusted, so the host never waits.
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
        """All of it read into memory, on this device."""
        everything = self.batch(slice(None), device=device)
        clean = None if self.clean_label is None else self.clean_label.to(device)
        return self._changed(
            inputs=everything.input, label=everything.label, clean_label=clean, index=everything.index
        )


def find_duplicates(data: LabelledData) -> list[Duplicate]:
    """Every sample that repeats an earlier one byte for byte, in order; reads all inputs once.

    Example:
        >>> import torch
        >>> data = LabelledData(torch.tensor([[1, 2], [3, 4], [1, 2]]), [0, 1, 1], duplicates="ignore")
        >>> print(*find_duplicates(data))
        sample 2 repeats sample 0 (labels 0 and 1)
    """
    inputs = data.inputs.cells() if isinstance(data.inputs, RawInputs) else data.inputs
    return Pairs.among(inputs).described(data.label, data.index)
