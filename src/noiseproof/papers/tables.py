"""Every table by name: a plain dict you can read."""

from __future__ import annotations

import re

from ..grammar import unknown
from . import curriculum, gr, imae, nal, own_tables, sl
from .cells import Table

_OF_PAPERS = {**gr.TABLES, **imae.TABLES, **sl.TABLES, **nal.TABLES, **curriculum.TABLES}
PRINTED: dict[str, Table] = {name: table for name, table in _OF_PAPERS.items() if ":" not in name}
"""Tables of the papers."""
OTHER_READINGS: dict[str, Table] = {name: table for name, table in _OF_PAPERS.items() if ":" in name}
"""``gr.table3:printed`` is ``gr.table3`` in another reading of its recipe."""
TABLES: dict[str, Table] = {**PRINTED, **own_tables.TABLES}
"""Tables of the papers, the runs behind their figures, and our own questions."""


def get(name: str | Table) -> Table:
    """A table by name; a table comes back as it is.

    Example:
        >>> get("sl.table1").cell("MNIST · 4-layer CNN · SL", "symmetric 0.4").printed
        98.97
        >>> get("sl.table9")
        Traceback (most recent call last):
        ValueError: unknown table 'sl.table9', did you mean 'sl.table...'? (known: gr.table1, ...
    """
    if isinstance(name, Table):
        return name
    if re.fullmatch(r"\w+\.figure\d+[a-z]?", name):
        raise ValueError(f"{name} is a figure, not a table: 'noiseproof papers figure {name}' draws it")
    known = TABLES | OTHER_READINGS
    if name not in known:
        raise ValueError(unknown("table", name, known if ":" in name else TABLES))
    return known[name]
