"""Numbers in words, with the decimals the paper prints."""

from __future__ import annotations

from collections.abc import Mapping

from .table import Cell, Table

NOTHING, MARK = "-", " *"


def decimals(table: Table) -> Mapping[str, int]:
    """The most decimals of a metric in a table, of numbers and deviations."""
    found: dict[str, int] = {}
    for cell in table.cells:
        for value in (cell.printed, cell.std):
            if isinstance(value, (int, float)):
                digits = len(f"{value:.6f}".rstrip("0").partition(".")[2])
                found[cell.metric] = max(digits, found.get(cell.metric, 0))
    return found


def plus_minus(value: float | str | None, std: float | None, digits: int) -> str:
    """
    >>> plus_minus(81.1, 0.07, 2), plus_minus(50000.0, None, 0), plus_minus(None, None, 1)
    ('81.10 ± 0.07', '50000', '-')
    """
    if value is None or isinstance(value, str):
        return value or NOTHING
    return f"{value:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")


def printed(cell: Cell, digits: Mapping[str, int]) -> str:
    """The number as the paper has it, with a mark if something must be said of it."""
    return plus_minus(cell.printed, cell.std, digits.get(cell.metric, 0)) + (MARK if cell.note else "")


def cell_notes(table: Table) -> list[str]:
    """What must be said of numbers, once, with the rows it is said of."""
    rows: dict[str, dict[str, None]] = {}
    for cell in table.cells:
        if cell.note:
            rows.setdefault(cell.note, {})[cell.row] = None
    return [f"{MARK.strip()} {', '.join(names)}: {note}" for note, names in rows.items()]


def signed(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:+.{digits}f}"
