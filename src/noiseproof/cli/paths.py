"""Checks of the paths given on the command line: run folders, comparison folders and output files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import typer

from ..atomic import explained

CONFIG, TABLE = "config.json", "table.json"
"""Files that identify a run folder and a comparison folder; the modules that define them import torch."""

MAX_HEAD_BYTES = 1 << 20
"""Number of bytes that are searched for column names."""


def parse_folder(words: str) -> Path:
    """The path of an ``--out`` option; BadParameter for an empty text, which would be the current folder.

    Example:
        >>> parse_folder("runs/both").as_posix()
        'runs/both'
    """
    if not str(words).strip():
        raise typer.BadParameter(f"{words!r} is not a folder: give one such as runs/first, or leave it out")
    return Path(words)


def require_run(folder: Path) -> Path:
    """The folder; FileNotFoundError if it is not a run folder but contains run folders."""
    if not (folder / CONFIG).is_file() and (runs := sorted(folder.glob(f"*/{CONFIG}"))):
        number = f"{len(runs)} runs" if len(runs) > 1 else "one"
        raise FileNotFoundError(
            f"{folder} is not a run folder, it contains {number}: choose one, such as {runs[0].parent}"
        )
    return folder


def refuse_run(folder: Path) -> None:
    """FileExistsError if the folder is a run folder, where no comparison may be written."""
    if (folder / CONFIG).is_file():
        raise FileExistsError(f"{folder} is a run folder, not a comparison: choose another --out")


def refuse_comparison(folder: Path) -> None:
    """FileExistsError if the folder is a comparison folder, where no run may be written."""
    if (folder / TABLE).is_file() and not (folder / CONFIG).is_file():
        raise FileExistsError(f"{folder} is a comparison folder, not a run: choose another --out")


def make_writable(folder: Path) -> None:
    """Create the folder of several runs; one error here replaces one per run."""
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def check_writable(*files: Path | None) -> None:
    """OSError now if a file could not be written at the end, after the runs."""
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


def check_overwrite(file: Path, column: str) -> None:
    """FileExistsError if the file exists and does not have this column, so another program wrote it.

    Column names are in the first line of a .csv file and at the end of a .parquet file.
    """
    if not file.is_file() or file.stat().st_size == 0:
        return
    is_text, size = file.suffix.lower() == ".csv", min(file.stat().st_size, MAX_HEAD_BYTES)
    with file.open("rb") as opened:
        opened.seek(0 if is_text else -size, os.SEEK_SET if is_text else os.SEEK_END)
        names = opened.readline(size) if is_text else opened.read(size)
    if column.encode() not in names:
        raise FileExistsError(
            f"{file} exists and has no column {column}, so it is not overwritten: choose another --out"
        )
