"""Who else is looking at the same labels now."""

from __future__ import annotations

import threading
import time

from ..labels.decisions import Decision

AWAY = 75.0
"""Seconds without a word after which a page counts as closed: hidden pages may speak once a minute."""
RECENT = 600.0
"""Seconds for which a decision made elsewhere says that somebody is there."""


class Presence:
    """Pages that ask this server, and reviewers elsewhere whose decisions arrive in the file."""

    def __init__(self) -> None:
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
        """New decisions of the file; those of our own pages tell nothing."""
        with self._lock:
            for decision in decisions:
                if decision.session not in self._ours:
                    self._elsewhere[decision.session] = (decision.reviewer, time.monotonic())

    def others(self, session: str) -> tuple[int, list[str]]:
        """How many other pages are open here, and the names of reviewers elsewhere."""
        now = time.monotonic()
        with self._lock:
            pages = [one for one, at in self._pages.items() if now - at < AWAY and one != session]
            names = sorted({name or "?" for name, at in self._elsewhere.values() if now - at < RECENT})
        return len(pages), names
