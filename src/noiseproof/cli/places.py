"""Folders that are not what a verb needs: one run where many are, many where one is."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import typer

from ..atomic import explained

CONFIG, TABLE = "config.json", "table.json"
"""What makes a folder a run, and a comparison; written out, as the modules that write them load torch."""

LONGEST_HEAD = 1 << 20
"""Bytes in which the names of columns stand."""


def named_folder(words: str) -> Path:
    """What --out says, for its option: no words at all would be the folder one stands in.

    Example:
        >>> named_folder("runs/both").as_posix()
        'runs/both'
    """
    if not str(words).strip():
        raise typer.BadParameter(f"{words!r} names no folder: give one such as runs/first, or leave it out")
    return Path(words)


def one_run(folder: Path) -> Path:
    """The folder, unless it is not a run folder and runs lie below it: then the error names one of them."""
    if not (folder / CONFIG).is_file() and (below := sorted(folder.glob(f"*/{CONFIG}"))):
        number = f"{len(below)} runs" if len(below) > 1 else "one"
        raise FileNotFoundError(
            f"{folder} is not a run folder, it holds {number}: choose one, such as {below[0].parent}"
        )
    return folder


def check_no_run(folder: Path) -> None:
    """Whether a comparison may be written here."""
    if (folder / CONFIG).is_file():
        raise FileExistsError(
            f"{folder} is a run, a comparison needs a folder of its own: choose another --out"
        )


def check_no_comparison(folder: Path) -> None:
    """Whether a run may be written here."""
    if (folder / TABLE).is_file() and not (folder / CONFIG).is_file():
        raise FileExistsError(
            f"{folder} is a comparison, a run needs a folder of its own: choose another --out"
        )


def make_writable(folder: Path) -> None:
    """The folder of many runs, made before the first of them, or one error in place of many."""
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def check_targets(*files: Path | None) -> None:
    """Whether files can be written when the runs are over, which may take days."""
    for file in files:
        if file is None:
            continue
        with explained(file):
            if file.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not file.parent.is_dir():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if not os.access(file.parent, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def check_not_foreign(file: Path, column: str) -> None:
    """Whether a table may be written here: over nothing, or over one that has this column, as ours have.

    Column names stand in the first line of a .csv file and at the end of a .parquet file.
    """
    if not file.is_file() or file.stat().st_size == 0:
        return
    is_text, size = file.suffix.lower() == ".csv", min(file.stat().st_size, LONGEST_HEAD)
    with file.open("rb") as opened:
        opened.seek(0 if is_text else -size, os.SEEK_SET if is_text else os.SEEK_END)
        names = opened.readline(size) if is_text else opened.read(size)
    if column.encode() not in names:
        raise FileExistsError(
            f"{file} is there and has no column {column}, so it is not of this command: choose another --out"
        )
