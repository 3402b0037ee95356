"""The runs of a comparison as ``noiseproof compare`` leaves them on the disk."""

from __future__ import annotations

import json
from pathlib import Path

from ..dynamics import RunFolder
from .evidence import Evidence, NothingToShow

TABLE, CONFIG = "table.json", "config.json"


def is_comparison(folder: str | Path) -> bool:
    """Whether a folder holds a table of runs, rather than one run."""
    place = Path(folder)
    return (place / TABLE).is_file() and not (place / CONFIG).is_file()


def runs_in(folder: str | Path) -> list[Evidence]:
    """The runs of the table in its order; those that failed or kept no record are left out.

    Only the names of the run folders are taken from the table, so a comparison may be moved.
    """
    place = Path(folder)
    if not is_comparison(place):
        raise FileNotFoundError(f"{place} is no comparison: expected {TABLE} in it, as compare writes it")
    found = []
    for name in _names(place / TABLE):
        try:
            evidence = Evidence(RunFolder(place / name))
            _ = evidence.record
        except (FileNotFoundError, NothingToShow):
            continue
        found.append(evidence)
    return found


def _names(table: Path) -> list[str]:
    try:
        rows = json.loads(table.read_text(encoding="utf-8"))["rows"]
        return [Path(run["folder"]).name for row in rows for run in row["runs"]]
    except (OSError, ValueError, TypeError, KeyError) as problem:
        raise ValueError(f"cannot read {table}: {problem!r}; run the comparison again") from None
