"""Output of ``noiseproof papers run`` and ``compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .papers_print import print_grid
from .screen import print_error, print_text

if TYPE_CHECKING:
    from ..papers.comparing import Comparison


def print_found(found: Comparison, as_json: bool) -> None:
    """Print our numbers next to the printed ones, and problems on stderr."""
    from ..papers import render

    if as_json:
        typer.echo(json.dumps(render.to_dict(found), indent=2, ensure_ascii=False))
    else:
        _print_table(found)
    for problem in found.problems:
        print_error(problem)


def write_file(found: Comparison, md: Path | None) -> None:
    from ..atomic import write_text
    from ..papers.render import to_markdown

    if md is not None:
        write_text(md, to_markdown(found))


def _print_table(found: Comparison) -> None:
    from ..papers import render
    from ..papers.describe import cell_notes
    from .papers_text import NARROW, counted, narrow_lines

    print_text(render.heading(found))
    started, not_started = found.parts()
    print_grid(NARROW, narrow_lines(started if started.entries else found), range(1, 6))
    if started.entries and not_started.entries:
        print_text(f"and {counted(not_started)} ('noiseproof papers show {found.table.name}' prints all)")
    print_text("\n".join([render.EXPLAINED, *cell_notes(found.table)]))
