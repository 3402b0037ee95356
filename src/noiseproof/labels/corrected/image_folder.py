"""Write a folder of images with corrected labels: a table of the files, or a tree of copies."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ...data import LabelledData
from .edit import Edit

FILE, LABEL = "file", "label"


def manifest_text(paths: Sequence[str], names: Sequence[str], folder: Path) -> bytes:
    """A table of files, relative to ``folder``, and the names of their classes."""
    if all(name.strip().isdigit() for name in names) and any(str(int(name)) != name for name in names):
        raise ValueError(f"a table would store the class {names[0]!r} as a number: use --copy")
    memory = io.StringIO(newline="")
    rows = csv.writer(memory, lineterminator="\n")
    rows.writerow([FILE, LABEL])
    for path, name in zip(paths, names, strict=True):
        rows.writerow([Path(os.path.relpath(path, folder)).as_posix(), name])
    try:
        return memory.getvalue().encode()
    except UnicodeEncodeError:
        raise ValueError("a file name is not valid Unicode, so a table cannot store it: use --copy") from None


def copy_tree(
    data: LabelledData, paths: Sequence[str], root: Path, target: Path, edit: Edit
) -> list[tuple[int, str, str | None]]:
    """Copy all images except dropped ones into one folder per class; returns (row, before, after).

    If a file of the same name exists in the new folder, the sample number is added to the name of the copy.
    """
    changes: list[tuple[int, str, str | None]] = []
    for row, label, path in zip(data.index.tolist(), data.label.tolist(), paths, strict=True):
        before, after = data.class_names[label], data.class_names[edit.relabel.get(row, label)]
        if row in edit.drop or row in edit.relabel:
            changes.append((row, before, None if row in edit.drop else after))
        if row in edit.drop:
            continue
        copy = target / after / os.path.relpath(path, root / before)
        if row in edit.relabel and (
            copy.exists() or (root / after / os.path.relpath(copy, target / after)).exists()
        ):
            copy = copy.with_name(f"{copy.stem}-{row}{copy.suffix}")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    return changes
