"""Who else is looking at the same labels now."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import atomic
from ..files import read_bytes
from ..labels.decisions import Decision
from ..lock import RunLock, RunLockedError
from ..report.wording import shown

AWAY = 75.0
"""Seconds without a request after which a page counts as closed: hidden pages may send one a minute."""
RECENT = 600.0
"""Seconds for which a reviewer counts as present after a decision made elsewhere."""
LONGEST = 60
"""Characters of a reviewer's name."""


class Presence:
    """Pages that ask this server, other servers of the same file, and whose decisions arrive in it."""

    def __init__(self, decisions: Path, reviewer: str) -> None:
        self.servers = Servers(decisions, reviewer)
        self._pages: dict[str, float] = {}
        self._elsewhere: dict[str, tuple[str, float]] = {}
        self._ours: set[str] = set()
        self._lock = threading.Lock()

    def saw(self, session: str) -> None:
        with self._lock:
            self._pages[session] = time.monotonic()
            self._ours.add(session)

    def left(self, session: str) -> None:
        with self._lock:
            self._pages.pop(session, None)

    def read(self, decisions: list[Decision]) -> None:
        """New decisions of the file; those of our own pages are not news."""
        with self._lock:
            for decision in decisions:
                if decision.session not in self._ours:
                    self._elsewhere[decision.session] = (decision.reviewer, time.monotonic())

    def others(self, session: str) -> tuple[int, list[str], list[str]]:
        """How many other pages are open here, and the reviewers elsewhere: who decided, who has it open."""
        now = time.monotonic()
        with self._lock:
            pages = [one for one, at in self._pages.items() if now - at < AWAY and one != session]
            names = sorted({name or "?" for name, at in self._elsewhere.values() if now - at < RECENT})
            return len(pages), names, self.servers.others()


class Servers:
    """Processes that serve the same file of decisions.

    Each holds the lock of a folder of its own in ``decisions.jsonl.open/``, with the reviewer's name beside
    it. The operating system frees the lock of a process that dies, so that others see it at once.
    """

    def __init__(self, decisions: Path, reviewer: str) -> None:
        self.place = decisions.with_name(f"{decisions.name}.open")
        self.own, self.reviewer = self.place / secrets.token_hex(6), reviewer

    @contextmanager
    def announced(self) -> Iterator[None]:
        """Others see this server while the block runs; where nothing can be written, they do not."""
        try:
            lock = RunLock(self.own)
            lock.__enter__()
            atomic.write_text(self.own / "reviewer", self.reviewer)
        except OSError:
            yield
            return
        try:
            yield
        finally:
            lock.__exit__()
            shutil.rmtree(self.own, ignore_errors=True)
            with suppress(OSError):
                self.place.rmdir()

    def others(self) -> list[str]:
        """The reviewers of other servers; what dead ones left is removed."""
        found = []
        with suppress(OSError):
            for folder in self.place.iterdir():
                if folder != self.own and (name := _reviewer(folder)):
                    found.append(name)
        return sorted(found)


def _reviewer(folder: Path) -> str | None:
    """Who reviews there; None if the process is gone."""
    try:
        with RunLock(folder):
            pass
    except RunLockedError:
        with suppress(OSError, ValueError):
            return shown(read_bytes(folder / "reviewer", 1000).decode(), LONGEST)
        return "?"
    shutil.rmtree(folder, ignore_errors=True)
    return None
