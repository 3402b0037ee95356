"""``noiseproof papers figure``: draw figures of the papers, from formulas or from runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..atomic import explained
from .papers_print import print_grid
from .screen import print_text

FORMATS = (".png", ".pdf", ".svg")


def figure(
    name: Annotated[
        str,
        typer.Argument(help="A figure such as gr.figure2, or a part, sl.figure8a; lists all if left out."),
    ] = "",
    runs: Annotated[list[Path] | None, typer.Argument(help="Folders of the runs to draw.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .png, .pdf or .svg file; by default NAME.png."),
    ] = None,
    home: Annotated[
        Path, typer.Option("--runs", help="Folder of the runs of 'papers run', used if RUNS is left out.")
    ] = Path("runs/papers"),
) -> None:
    """Draw a figure: from a formula, from the given runs, or from those of 'papers run'."""
    if out is not None and out.suffix.lower() not in FORMATS:
        raise ValueError(f"cannot write {out}: use one of {', '.join(FORMATS)}")
    from ..papers.figures import FIGURES, draw, figure_source

    if not name:
        rows = [[key, figure_source(key), title] for key, title in FIGURES.items()]
        print_grid(["figure", "drawn from", "shows"], rows, range(0))
        return
    path = Path(f"{name}.png") if out is None else out
    picture = draw(name, runs or (), out=home)
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(path, dpi=150)
    print_text(f"wrote {path}")
