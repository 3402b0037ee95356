"""Decisions of reviewers about labels: an append-only file with one line per decision."""

from __future__ import annotations

import json
import operator
import os
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from .. import atomic
from ..files import open_regular

NAME = "decisions.jsonl"
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
KINDS = ("keep", "relabel", "drop", "unsure", "undo")
MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Decision:
    """One line of the file.

    ``seen`` is the id of the decision about this sample that the reviewer saw: None if there was none, "" if
    unknown. An ``undo`` reverts the decision with the id ``seen``.

    Example:
        >>> Decision(7, "relabel", "cat", reviewer="anna").decision
        'relabel'
        >>> Decision(7, "relable", "cat")
        Traceback (most recent call last):
        ValueError: decision='relable' of sample 7 must be one of keep, relabel, drop, unsure, undo
    """

    sample: int
    """Permanent number of the sample."""
    decision: str
    label: str | int | None = None
    """The new label of a ``relabel``: the name of a class, or its number."""
    time: str = ""
    """UTC, as in 2026-01-31T12:00:00.000000Z."""
    reviewer: str = ""
    why: str = ""
    id: str = ""
    seen: str | None = ""
    session: str = ""
    """Id of the browser page in which the decision was made."""

    def __post_init__(self) -> None:
        if isinstance(self.sample, np.integer):
            object.__setattr__(self, "sample", int(self.sample))
        if type(self.sample) is not int:
            raise ValueError(f"sample={self.sample!r} must be the number of a sample")
        if self.decision not in KINDS:
            kinds = ", ".join(KINDS)
            raise ValueError(f"decision={self.decision!r} of sample {self.sample} must be one of {kinds}")
        if self.decision == "relabel" and (type(self.label) not in (str, int)):
            raise ValueError(f"sample {self.sample}: relabel needs label=..., the name or number of a class")

    @property
    def outcome(self) -> tuple[str, str | int | None]:
        """Kind and new label; two decisions with the same outcome do not conflict."""
        return self.decision, self.label if self.decision == "relabel" else None

    def line(self) -> bytes:
        words = {name: value for name, value in asdict(self).items() if value != "" or name == "reviewer"}
        return json.dumps(words, ensure_ascii=True).encode() + b"\n"


@dataclass(frozen=True)
class State:
    """The current decision about a sample, and the earlier one it conflicts with, if any."""

    current: Decision
    conflict: Decision | None = None


class DecisionLog:
    """The file of decisions; several processes may append to it.

    A decision is appended by one write and flushed to the disk before ``append`` returns. An incomplete line
    of a killed process is never read as a decision; the next writer begins a new line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        self.decisions: list[Decision] = []
        """All decisions in the order of the file."""
        self.damaged = 0
        """Number of lines that are not valid decisions."""
        self.ids: set[str] = set()
        self._about: dict[int, list[Decision]] = {}
        self._read, self._latest = 0, ""

    def refresh(self) -> list[Decision]:
        """Read new lines of the file; returns the new decisions."""
        with self._lock:
            whole, end, _ = self._unread().rpartition(b"\n")
            self._read += len(whole) + len(end)
            found = [_parsed(line) for line in whole.split(b"\n") if line.strip()]
            new = [decision for decision in found if decision is not None]
            self.damaged += len(found) - len(new)
            self.decisions += new
            for decision in new:
                self._about.setdefault(decision.sample, []).append(decision)
                self.ids.add(decision.id)
                self._latest = max(self._latest, decision.time)
            return new

    def _unread(self) -> bytes:
        if not self.path.exists():
            return b""
        with open_regular(self.path, MAX_BYTES) as file:
            if os.fstat(file.fileno()).st_size < self._read:  # the file was replaced
                self._forget()
            file.seek(self._read)
            return file.read()

    def append(self, decisions: Iterable[Decision]) -> list[Decision]:
        """Append decisions and flush them to the disk; missing times and ids are filled in."""
        with self._lock:
            self.refresh()
            now = _time_after(self._latest)
            ready = [_complete(decision, now) for decision in decisions]
            content = b"".join(decision.line() for decision in ready)
            with atomic.explained(self.path, len(content)):
                _append(self.path, content)
            self.refresh()
            return ready

    def state(self, sample: int) -> State | None:
        """The state of one sample; None if it has no decision, or all were undone."""
        with self._lock:
            return current_states(self._about.get(sample, ())).get(sample)

    def states(self) -> dict[int, State]:
        with self._lock:
            return current_states(self.decisions)


def current_states(decisions: Iterable[Decision]) -> dict[int, State]:
    """The state of each sample: its latest decision by time that was not undone.

    A decision conflicts with the one before it if its reviewer had not seen that one and the outcomes differ;
    a later decision by a reviewer who has seen the latest one resolves the conflict.

    Example:
        >>> first = Decision(3, "keep", time="1", reviewer="anna", id="a", seen=None)
        >>> second = Decision(3, "drop", time="2", reviewer="ben", id="b", seen=None)
        >>> found = current_states([second, first])[3]
        >>> found.current.reviewer, found.conflict.reviewer
        ('ben', 'anna')
    """
    live: dict[int, list[State]] = {}
    for decision in sorted(decisions, key=lambda decision: decision.time):
        before = live.setdefault(decision.sample, [])
        if decision.decision == "undo":
            position = _undone(before, decision)
            if position is not None:
                del before[position]
            continue
        latest = before[-1].current if before else None
        before.append(State(decision, latest if _is_conflict(decision, latest) else None))
    return {sample: states[-1] for sample, states in live.items() if states}


def read_decisions(path: str | os.PathLike[str]) -> list[Decision]:
    """The decisions of a file, or of the file in a run folder."""
    file = Path(path)
    file = file / NAME if file.is_dir() else file
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist: no decisions about labels have been made yet")
    return DecisionLog(file).decisions


def from_mapping(words: Mapping[str, Any]) -> Decision:
    """A decision from a JSON object or a row of a table; unknown fields are ignored.

    Example:
        >>> from_mapping({"sample": 3, "decision": "keep", "colour": "red"}).sample
        3
    """
    known = {name: words[name] for name in Decision.__dataclass_fields__ if name in words}
    for name in ("sample", "decision"):
        if name not in known:
            hint = "; make decisions with labels.decide" if "label_score" in words else ""
            raise ValueError(f"a decision needs {name!r}, got {', '.join(map(str, words))}{hint}")
    for name in ("sample", "label"):  # in a table these may be numbers of numpy, and NaN if missing
        value = known.get(name)
        if value is not None and value != value:
            known[name] = None
        elif isinstance(value, float) and value.is_integer():
            known[name] = int(value)
        elif isinstance(value, SupportsIndex) and not isinstance(value, bool):
            known[name] = operator.index(value)
    return Decision(**known)


def _is_conflict(decision: Decision, latest: Decision | None) -> bool:
    if (
        latest is None
        or latest.outcome == decision.outcome
        or "unsure" in (latest.decision, decision.decision)
    ):
        return False
    if decision.seen == "":
        return decision.reviewer != latest.reviewer
    return decision.seen != latest.id


def _undone(states: list[State], undo: Decision) -> int | None:
    """Position of the decision that an undo reverts: the one it has seen, or the last."""
    if not undo.seen:
        return len(states) - 1 if states else None
    found = [position for position, state in enumerate(states) if state.current.id == undo.seen]
    return found[-1] if found else None


def _parsed(line: bytes) -> Decision | None:
    try:
        words = json.loads(line.decode("utf-8"))
        return from_mapping(words) if isinstance(words, dict) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _complete(decision: Decision, now: str) -> Decision:
    words = asdict(decision)
    return Decision(**words | {"time": decision.time or now, "id": decision.id or secrets.token_hex(6)})


def _time_after(latest: str) -> str:
    """The current time, or one microsecond after ``latest`` if the clock was set back."""
    now = datetime.now(timezone.utc).strftime(TIME)
    if now > latest:
        return now
    try:
        before = datetime.strptime(latest, TIME)
    except ValueError:
        return now
    return (before + timedelta(microseconds=1)).strftime(TIME)


def _append(path: Path, content: bytes) -> None:
    is_new = not path.exists()
    descriptor = atomic.open_in_place(path, os.O_RDWR | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        if size:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            content = content if os.read(descriptor, 1) == b"\n" else b"\n" + content
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        atomic.flush([path])
