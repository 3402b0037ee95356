"""A folder of images with other labels: a manifest that names the files, or a tree of copies."""

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
        raise ValueError(f"a table would read the class {names[0]!r} as a number: use --copy")
    memory = io.StringIO(newline="")
    rows = csv.writer(memory, lineterminator="\n")
    rows.writerow([FILE, LABEL])
    for path, name in zip(paths, names, strict=True):
        rows.writerow([Path(os.path.relpath(path, folder)).as_posix(), name])
    try:
        return memory.getvalue().encode()
    except UnicodeEncodeError:
        raise ValueError("a file name is not text that a table can hold: use --copy") from None


def copy_tree(
    data: LabelledData, paths: Sequence[str], root: Path, target: Path, edit: Edit
) -> list[tuple[int, str, str | None]]:
    """Copies of all images but the dropped ones in one folder per class; returns (row, before, after).

    A file of the same name in its new folder is not overwritten: the copy gets the number of the sample.
    """
    changes: list[tuple[int, str, str | None]] = []
    for row, label, path in zip(data.index.tolist(), data.label.tolist(), paths, strict=True):
        before, after = data.class_names[label], data.class_names[edit.relabel.get(row, label)]
        if row in edit.drop or row in edit.relabel:
            changes.append((row, before, None if row in edit.drop else after))
        if row in edit.drop:
            continue
        place = target / after / os.path.relpath(path, root / before)
        if row in edit.relabel and (
            place.exists() or (root / after / os.path.relpath(place, target / after)).exists()
        ):
            place = place.with_name(f"{place.stem}-{row}{place.suffix}")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return changes
