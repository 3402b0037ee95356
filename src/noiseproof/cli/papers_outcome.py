"""What ``noiseproof papers run`` and ``compare`` print and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .papers_printing import print_grid
from .screen import complain, tell

if TYPE_CHECKING:
    from ..papers.comparing import Comparison


def print_found(found: Comparison, as_json: bool) -> None:
    """Ours beside printed; what went wrong on stderr."""
    from ..papers import render

    if as_json:
        typer.echo(json.dumps(render.to_dict(found), indent=2, ensure_ascii=False))
    else:
        _print_table(found)
    for problem in found.problems:
        complain(problem)


def write_file(found: Comparison, md: Path | None) -> None:
    from ..atomic import write_text
    from ..papers.render import to_markdown

    if md is not None:
        write_text(md, to_markdown(found))


def _print_table(found: Comparison) -> None:
    from ..papers import render
    from ..papers.describe import cell_notes
    from .papers_words import NARROW, counted, narrow_lines

    tell(render.heading(found))
    busy, idle = found.parts()
    print_grid(NARROW, narrow_lines(busy if busy.entries else found), range(1, 6))
    if busy.entries and idle.entries:
        tell(f"and {counted(idle)} ('noiseproof papers show {found.table.name}' prints all)")
    tell("\n".join([render.EXPLAINED, *cell_notes(found.table)]))
