"""``revert``: corrected data back to what they were, from their log and the rows that were dropped."""

from __future__ import annotations

from pathlib import Path

from .arrays_file import restore_npz
from .log import base_name, read_log
from .parquet_table import restore_parquet_table
from .place import file_hash
from .text_table import restore_text_table


def revert(corrected: str | Path, out: str | Path | None = None) -> tuple[Path, bool]:
    """Write the data as they were before; the original need not be there any more.

    Args:
        corrected: what ``write_corrected`` wrote, with its log beside it.
        out: by default the name of the corrected file with ``reverted`` in place of ``corrected``.

    Returns:
        The new file, and whether it is the original byte for byte; if not, its values are the same.
    """
    corrected = Path(corrected)
    log = read_log(corrected)
    target = Path(out) if out is not None else _beside(corrected)
    if target.exists():
        raise FileExistsError(f"{target} is there: choose another --out")
    dropped = None if log.dropped is None else corrected.with_name(log.dropped)
    if dropped is not None and not dropped.is_file():
        raise FileNotFoundError(f"{dropped} is not there: it holds the rows that were dropped")
    before = {change.row: None if change.after is None else change.before for change in log.changes}
    if log.kind == "csv" and log.label is not None:
        restore_text_table(corrected, dropped, target, log.label, before)
    elif log.kind == "parquet" and log.label is not None:
        restore_parquet_table(corrected, dropped, target, log.label, before)
    elif log.kind == "npz":
        restore_npz(corrected, dropped, target, before)
    else:
        raise ValueError(f"{corrected} cannot be reverted: the original, {log.original}, was not changed")
    return target, bool(log.sha256) and file_hash(target) == log.sha256


def _beside(corrected: Path) -> Path:
    base = base_name(corrected.name)
    return corrected.with_name(f"{base.removesuffix('.corrected')}.reverted{corrected.name[len(base) :]}")
