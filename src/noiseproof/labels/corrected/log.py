"""The log of changes next to a corrected file: row, before, after, why, by, when."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ...atomic import write_bytes
from ...data.registry import parse_source
from ...dynamics.json_lines import read as read_lines
from ..decisions import Decision

FORMAT = 1
MARK = ".corrected"
NOISE = "noise that the run added"


@dataclass(frozen=True)
class Change:
    """The change of one row; ``after`` is None if it was dropped."""

    row: int
    before: str
    after: str | None
    why: str = ""
    by: str = ""
    when: str = ""


@dataclass(frozen=True)
class ChangeLog:
    """The files of a correction and its changes; stored as a line of JSON followed by one per change."""

    original: str
    sha256: str
    """Of the original."""
    corrected: str
    dropped: str | None
    """File name of the dropped rows, in the same folder."""
    label: str | None
    """The column of labels, if the file is a table."""
    kind: str
    """Format of the file: csv, parquet, npz, npy or tree."""
    run: str | None
    data: str
    """The corrected data as a source to train on."""
    test: str | None
    time: str
    changes: tuple[Change, ...] = ()

    @property
    def relabelled(self) -> int:
        return sum(change.after is not None for change in self.changes)

    def write(self, path: Path) -> None:
        head = {name: value for name, value in asdict(self).items() if name != "changes"}
        lines = [{"noiseproof_changes": FORMAT, **head}, *map(asdict, self.changes)]
        write_bytes(path, b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def log_path(corrected: Path) -> Path:
    """
    >>> log_path(Path("a/rows.corrected.csv.gz")).as_posix()
    'a/rows.corrected.changes.jsonl'
    """
    return corrected.with_name(f"{base_name(corrected.name)}.changes.jsonl")


def base_name(name: str) -> str:
    """A file name without its suffixes of format and compression.

    >>> base_name("rows.v2.csv.gz"), base_name("photos")
    ('rows.v2', 'photos')
    """
    base = name
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".zip", ".csv", ".tsv", ".parquet", ".npz", ".npy"):
        base = base[: -len(suffix)] if base.lower().endswith(suffix) else base
    return base or name


def read_log(corrected: str | Path) -> ChangeLog:
    """The log next to a corrected file or folder; FileNotFoundError if there is none."""
    path = log_path(Path(corrected))
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist: {corrected} was not written by noiseproof labels apply"
        )
    head, *rest = read_lines(path) or [{}]
    if head.pop("noiseproof_changes", None) != FORMAT:
        raise ValueError(f"{path} is not a log of changes that this version of noiseproof can read")
    try:
        return ChangeLog(**head, changes=tuple(Change(**line) for line in rest))
    except TypeError as problem:
        raise ValueError(f"{path} is damaged: {problem}") from None


def log_of(data: object) -> ChangeLog | None:
    """The log of the data that a run was trained on; None if these are not corrected data."""
    try:
        _, options = parse_source(data) if isinstance(data, str) else ("", {})
        for path in (options.get("labels"), options.get("path")):
            if isinstance(path, str) and log_path(Path(path)).is_file():
                return read_log(path)
    except (OSError, ValueError):
        return None
    return None


def changes_with_reasons(
    rows: Sequence[tuple[int, str, str | None]], why: Mapping[int, Decision], now: str
) -> tuple[Change, ...]:
    """Changes of a file with reason, reviewer and time; decisions by rules get the time ``now``."""
    found = []
    for row, before, after in rows:
        decision = why.get(row)
        if decision is None:
            found.append(Change(row, before, after, NOISE, when=now))
        else:
            reason = decision.why or f"{decision.decision} by {decision.reviewer or 'a reviewer'}"
            found.append(Change(row, before, after, reason, decision.reviewer, decision.time or now))
    return tuple(found)
