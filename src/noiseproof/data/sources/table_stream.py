"""A table that is larger than memory: features in a memory-mapped file made once, labels in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..stream_cache import StreamCache
from .table_features import problem_of_wanted, wanted_columns
from .table_file import separator_of, table_columns
from .table_label_values import LabelColumn, LabelValues, read_labels, write_labels
from .table_pass import FeatureColumns, pass_over
from .table_row_numbers import row_numbers_of_file

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

FORM = "table 1"
"""Changes when the files in the cache mean something else."""
INPUTS = "inputs.npy"


class StreamedTable:
    """Columns of labels by name, as a data frame has them, and the features as a memory map.

    ``unused`` are the columns in front that are no features, because they count the rows.
    """

    def __init__(
        self,
        columns: list[str],
        labels: Mapping[str, LabelColumn],
        features: NDArray[np.float32] | Exception | None,
        unused: list[str],
    ) -> None:
        self.columns, self.features, self.unused = columns, features, unused
        self.labels = {name: column.series() for name, column in labels.items()}

    def __getitem__(self, name: str) -> pd.Series[Any]:
        return self.labels[name]

    def __len__(self) -> int:
        return len(self.inputs())

    def inputs(self) -> NDArray[np.float32]:
        """The features; what is wrong with them is said here, after what is wrong with the labels."""
        if isinstance(self.features, np.ndarray):
            return self.features
        raise self.features or ValueError("the features cannot be mapped")


def streamed_table(
    place: Path, labels: list[str], features: str | None, root: Path, unused: list[str] | None = None
) -> StreamedTable:
    """The table, from the cache under ``root`` or by one pass over it in pieces, which fills the cache.

    ``unused`` None looks for columns that count the rows.
    """
    columns = table_columns(place)
    wanted = wanted_columns(columns, features, labels)
    if unused is None:
        unused = [] if features is not None else row_numbers_of_file(place, wanted, root)
    wanted = wanted_columns(columns, features, labels, unused)
    cache = StreamCache(root, place, [FORM, labels, wanted])
    mapped, found = cache.map(INPUTS), read_labels(cache.folder)
    if mapped is not None and set(found) == set(labels):
        return StreamedTable(columns, found, mapped, unused)
    cache.discard()
    facts = FeatureColumns(wanted, columns, from_text=separator_of(place) is not None)
    collected = {name: LabelValues() for name in labels if name in columns}
    with cache.writing() as new:
        pass_over(place, columns, collected, facts, new / INPUTS)
        found = {name: values.column(from_text=facts.from_text) for name, values in collected.items()}
        problem = problem_of_wanted(wanted, features, labels, place) or facts.problem(place, list(found))
        if problem is None:
            write_labels(new, found)
            cache.keep(new)
    return StreamedTable(columns, found, problem or cache.map(INPUTS), unused)
