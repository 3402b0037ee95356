"""Detect other pages, servers and reviewers of the same labels."""

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
from ..report.text import one_line

CLOSED_AFTER = 75.0
"""Seconds without a request after which a page counts as closed; hidden pages may send one a minute."""
RECENT = 600.0
"""Seconds for which a reviewer counts as present after a decision made elsewhere."""
MAX_NAME_LENGTH = 60
"""Maximum length of a reviewer's name."""


class Presence:
    """Open pages of this server, other servers of the same file, and reviewers who decide elsewhere."""

    def __init__(self, decisions: Path, reviewer: str) -> None:
        self.servers = Servers(decisions, reviewer)
        self._pages: dict[str, float] = {}
        self._elsewhere: dict[str, tuple[str, float]] = {}
        self._ours: set[str] = set()
        self._lock = threading.Lock()

    def page_seen(self, session: str) -> None:
        with self._lock:
            self._pages[session] = time.monotonic()
            self._ours.add(session)

    def page_closed(self, session: str) -> None:
        with self._lock:
            self._pages.pop(session, None)

    def decisions_read(self, decisions: list[Decision]) -> None:
        """Note new decisions of the file that were not made in pages of this server."""
        with self._lock:
            for decision in decisions:
                if decision.session not in self._ours:
                    self._elsewhere[decision.session] = (decision.reviewer, time.monotonic())

    def others(self, session: str) -> tuple[int, list[str], list[str]]:
        """Number of other pages of this server, and reviewers who decided or have it open elsewhere."""
        now = time.monotonic()
        with self._lock:
            pages = [one for one, at in self._pages.items() if now - at < CLOSED_AFTER and one != session]
            names = sorted({name or "?" for name, at in self._elsewhere.values() if now - at < RECENT})
            return len(pages), names, self.servers.others()


class Servers:
    """Processes that serve the same file of decisions.

    Each holds the lock of a subfolder of ``decisions.jsonl.open/``, which also contains the name of its
    reviewer. The operating system releases the lock of a process that dies.
    """

    def __init__(self, decisions: Path, reviewer: str) -> None:
        self.folder = decisions.with_name(f"{decisions.name}.open")
        self.own, self.reviewer = self.folder / secrets.token_hex(6), reviewer

    @contextmanager
    def announced(self) -> Iterator[None]:
        """Make this server visible to others; has no effect if the folder is not writable."""
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
                self.folder.rmdir()

    def others(self) -> list[str]:
        """The reviewers of other servers; folders of dead servers are removed."""
        found = []
        with suppress(OSError):
            for folder in self.folder.iterdir():
                if folder != self.own and (name := _reviewer(folder)):
                    found.append(name)
        return sorted(found)


def _reviewer(folder: Path) -> str | None:
    """The reviewer of a server; None if its process has died."""
    try:
        with RunLock(folder):
            pass
    except RunLockedError:
        with suppress(OSError, ValueError):
            return one_line(read_bytes(folder / "reviewer", 1000).decode(), MAX_NAME_LENGTH)
        return "?"
    shutil.rmtree(folder, ignore_errors=True)
    return None
