"""``revert``: restore the original of corrected data from the log and the dropped rows."""

from __future__ import annotations

from pathlib import Path

from .arrays_file import restore_npz
from .log import base_name, read_log
from .output_file import file_hash
from .parquet_table import restore_parquet_table
from .text_table import restore_text_table


def revert(corrected: str | Path, out: str | Path | None = None) -> tuple[Path, bool]:
    """Write the data as they were before the correction; the original file is not needed.

    Args:
        corrected: the file that ``write_corrected`` wrote, with its log in the same folder.
        out: by default the name of the corrected file with ``reverted`` instead of ``corrected``.

    Returns:
        The new file, and whether it equals the original byte for byte; its values always do.
    """
    corrected = Path(corrected)
    log = read_log(corrected)
    target = Path(out) if out is not None else _default_target(corrected)
    if target.exists():
        raise FileExistsError(f"{target} exists: choose another --out")
    dropped = None if log.dropped is None else corrected.with_name(log.dropped)
    if dropped is not None and not dropped.is_file():
        raise FileNotFoundError(f"{dropped}, the file of the dropped rows, does not exist")
    before = {change.row: None if change.after is None else change.before for change in log.changes}
    if log.kind == "csv" and log.label is not None:
        restore_text_table(corrected, dropped, target, log.label, before)
    elif log.kind == "parquet" and log.label is not None:
        restore_parquet_table(corrected, dropped, target, log.label, before)
    elif log.kind == "npz":
        restore_npz(corrected, dropped, target, before)
    else:
        raise ValueError(f"{corrected} cannot be reverted: use the original, {log.original}")
    return target, bool(log.sha256) and file_hash(target) == log.sha256


def _default_target(corrected: Path) -> Path:
    base = base_name(corrected.name)
    return corrected.with_name(f"{base.removesuffix('.corrected')}.reverted{corrected.name[len(base) :]}")
