"""A comparison as one self-contained page; everything in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .comparing import Comparison, Entry
from .describe import cell_notes
from .render import EXPLAINED, HEADINGS, counted, heading, lines

NUMBERS = {"printed", "ours", "seeds", "diff", "in std"}
FAR, VERY_FAR = 2.0, 4.0
"""Deviations from which a difference is coloured."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
body { color: #222; }
h1 { font-size: 1.25rem; } p, li { color: #555; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: left; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; position: sticky; top: 0; background: #fff; }
.number { text-align: right; white-space: nowrap; }
.far { background: #fdf0d5; } .veryfar { background: #f9d5c8; } .idle td { color: #6b6b6b; }
summary { cursor: pointer; margin: 1rem 0; }
@media (prefers-color-scheme: dark) {
  body, th { background: #1b1b1b; color: #ddd; } p, li { color: #aaa; } th, td { border-color: #444; }
  .far { background: #5c4a1e; } .veryfar { background: #6b3021; } .idle td { color: #9a9a9a; }
}
"""


def page(comparison: Comparison) -> str:
    """The HTML."""
    title = escape(heading(comparison))
    busy, idle = comparison.parts()
    notes = [*cell_notes(comparison.table), *comparison.table.notes]
    notes += [f"failed: {problem}" for problem in comparison.problems]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        f"{_html_table(busy)}"
        f"<p>{escape(EXPLAINED)}. Coloured: from {FAR:g}, and from {VERY_FAR:g} deviations.</p>\n"
        f"{_listed(notes)}{_folded(idle, not busy.entries)}</body></html>\n"
    )


def _html_table(comparison: Comparison) -> str:
    if not comparison.entries:
        return ""
    rows = zip(comparison.entries, lines(comparison), strict=True)
    head = "".join(f"<th{_class(name, '')}>{escape(name)}</th>" for name in HEADINGS)
    body = "\n".join(_html_row(entry, line) for entry, line in rows)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n"


def _folded(idle: Comparison, is_open: bool) -> str:
    """Cells without a number of ours, out of the way where there are others."""
    if not idle.entries:
        return ""
    state = " open" if is_open else ""
    return f"<details{state}><summary>{escape(counted(idle))}</summary>\n{_html_table(idle)}</details>\n"


def _html_row(entry: Entry, line: list[str]) -> str:
    away = abs(entry.deviations or 0.0)
    colour = "veryfar" if away >= VERY_FAR else "far" if away >= FAR else ""
    cells = "".join(
        f"<td{_class(name, colour if name == 'in std' else '')}>{escape(text)}</td>"
        for name, text in zip(HEADINGS, line, strict=True)
    )
    return f"<tr{'' if entry.ours is not None else ' class=' + chr(34) + 'idle' + chr(34)}>{cells}</tr>"


def _class(name: str, colour: str) -> str:
    words = " ".join(word for word in ("number" if name in NUMBERS else "", colour) if word)
    return f' class="{words}"' if words else ""


def _listed(notes: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<ul>{items}</ul>\n" if items else ""
