"""Paths of the image files of suspects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


def with_files(found: DataFrame, run: Path) -> DataFrame:
    """Add a column ``file`` after the index, if the run was trained on image files that still exist."""
    from ..data import load
    from ..data.images import ImageFiles
    from ..dynamics import RunFolder
    from ..labels.export import neutral
    from ..terminal import file_text

    source = RunFolder(run).settings.get("data")
    if not isinstance(source, str) or not (source.startswith("folder") or "image=" in source):
        return found
    try:
        data = load(source)
    except (OSError, ValueError):
        return found
    if not isinstance(data.inputs, ImageFiles):
        return found
    names = (neutral(file_text(path)) for path in data.inputs.paths)
    files = dict(zip(data.index.tolist(), names, strict=True))
    named = found.copy()
    named.insert(1, "file", named["index"].map(files).fillna(""))
    return named
