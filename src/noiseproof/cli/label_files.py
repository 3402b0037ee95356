"""What suspects are: image files, or rows of a table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from ..data import LabelledData

MOST_CELLS = 20_000_000
"""Of a table whose values are shown."""


def with_files(found: DataFrame, run: Path) -> DataFrame:
    """A column ``file`` after the index, or those of the table at the end, if the data is still there."""
    from ..data.image_files import ImageFiles
    from ..labels.export import neutral

    data = _data_of(run)
    if data is None:
        return found
    if not isinstance(data.inputs, ImageFiles):
        return _with_columns(found, data)
    files = dict(zip(data.index.tolist(), map(neutral, data.inputs.paths), strict=True))
    named = found.copy()
    named.insert(1, "file", named["index"].map(files).fillna(""))
    return named


def _data_of(run: Path) -> LabelledData | None:
    """The training data, where samples can be named; what it warns of it did when it was trained on."""
    from ..data import load
    from ..dynamics import RunFolder

    source = RunFolder(run).settings.get("data")
    if not isinstance(source, str) or not source.startswith(("folder", "csv", "parquet")):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load(source, duplicates="ignore")
    except (OSError, ValueError):
        return None


def _with_columns(found: DataFrame, data: LabelledData) -> DataFrame:
    import numpy as np
    from pandas import DataFrame, concat  # type: ignore[import-untyped]

    from ..data.inputs import read_rows
    from ..labels.export import neutral

    place = {number: position for position, number in enumerate(data.index.tolist())}
    is_there = all(number in place for number in found["index"])
    if not data.columns or not is_there or len(found) * len(data.columns) > MOST_CELLS:
        return found
    rows = read_rows(data.inputs, np.array([place[number] for number in found["index"]]))
    names = [f"column {neutral(name)}" for name in data.columns]
    values = DataFrame(rows.flatten(1).numpy(), columns=names, index=found.index)
    both = concat([found, values], axis=1)
    both.attrs = found.attrs
    return both
