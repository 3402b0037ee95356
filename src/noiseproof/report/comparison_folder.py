"""The runs of a comparison as ``noiseproof compare`` leaves them on the disk."""

from __future__ import annotations

from pathlib import Path

from ..dynamics import RunFolder
from ..files import DamagedFileError, read_json
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
        raise FileNotFoundError(f"{place} is not a comparison: expected {TABLE} in it, as compare writes it")
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
        rows = read_json(table)["rows"]
        return [Path(run["folder"]).name for row in rows for run in row["runs"]]
    except (OSError, ValueError, TypeError, KeyError) as problem:
        reason = problem.reason if isinstance(problem, DamagedFileError) else repr(problem)
        raise DamagedFileError(table, reason, remedy="run the comparison again") from None
