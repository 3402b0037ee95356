"""Write suspects to a .csv or .parquet file that is safe to open in a spreadsheet."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..atomic import write_bytes
from ..terminal import printable
from .findings import with_classes
from .original_rows import rows_of

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""First characters of a formula in spreadsheets; the last four are full-width forms."""

NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?")
"""Numbers, which may begin like a formula."""


def neutral(text: str) -> str:
    """Text that neither a spreadsheet nor a terminal executes.

    Control characters become spaces; a quote is put before text that begins like a formula.

    Example:
        >>> [neutral(name) for name in ("cat", "=1+1", "-2", chr(9) + "@SUM", chr(27) + "[2J")]
        ['cat', "'=1+1", "'-2", "' @SUM", ' [2J']
    """
    plain = printable(text)
    return f"'{plain}" if plain.lstrip().startswith(FORMULA) else plain


def with_names(found: DataFrame, safe: Callable[[str], str] = neutral) -> DataFrame:
    """The frame of ``find`` with class names that are safe for a file."""
    classes = [safe(str(name)) for name in found.attrs["class_names"]]
    named = found.drop(columns=["given_name", "predicted_name"], errors="ignore")
    return with_classes(named, classes).fillna({"predicted_name": ""})


def with_original(table: DataFrame, data: object, *, as_text: bool) -> DataFrame:
    """The table with the columns of the user's file added, if the source ``data`` is a table.

    A column whose name exists already is called ``original_...``. ``as_text`` makes text safe for a
    spreadsheet.
    """
    rows = rows_of(data, table["index"].tolist(), as_text=as_text)
    if rows is None:
        return table
    found = table.copy()
    for number, name in enumerate(map(str, rows.columns)):
        values = rows.iloc[:, number].reset_index(drop=True).set_axis(table.index)
        if as_text and values.dtype.kind not in "iufbM":
            values = values.map(_cell)
        title = neutral(name) if as_text else name
        found[f"original_{title}" if title in found.columns else title] = values
    return found


def _cell(value: object) -> object:
    """A cell of the user's table, made safe; text that is a number is not changed."""
    return neutral(value) if isinstance(value, str) and not NUMBER.fullmatch(value) else value


def write(found: DataFrame, path: str | Path, *, everything: bool = False, data: object = None) -> int:
    """Write the suspects of ``find``, worst first, to a .csv or .parquet file; returns their number.

    Args:
        everything: write all samples, not only the suspects.
        data: the source of the samples, such as ``csv(path="rows.csv")``; the columns of a table are added.
    """
    path = check_path(path)
    rows = found if everything else found[found.is_label_issue]
    as_text = path.suffix.lower() == ".csv"
    table = with_names(rows.sort_values("label_score", kind="stable"))
    try:
        table = with_original(table, data, as_text=as_text)
    except (OSError, ValueError, ImportError) as problem:
        warnings.warn(f"the columns of the data are left out: {problem}", stacklevel=2)
    content = table.to_csv(index=False).encode() if as_text else table.to_parquet(index=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return len(table)


def check_path(path: str | Path) -> Path:
    """The path; ValueError unless a .csv or .parquet file can be written to it."""
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"cannot write {str(path)!r}: the name must end in .csv or .parquet")
    if path.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: it is a folder, choose another name")
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow  # type: ignore[import-not-found, import-untyped]  # noqa: F401
        except ImportError:
            advice = "pip install 'noiseproof[parquet]', or write .csv"
            raise ValueError(f"cannot write {str(path)!r}: pyarrow is missing, {advice}") from None
    return path
