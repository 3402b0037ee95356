"""``noiseproof report``: write an HTML report of a run, or of several runs compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .paths import require_run
from .screen import print_text


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Folder of a run, or of a comparison; several runs are compared.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write: by default RUN/report.html, or comparison.html."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Source of the inputs, if it has moved since the run was trained.")
    ] = None,
) -> None:
    """Write a self-contained HTML report with summary, figures, and suspects with thumbnails."""
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"cannot write {out}: use .html")
    from ..report.comparison import is_comparison

    if len(runs) == 1 and is_comparison(runs[0]):
        from ..report import write_comparison

        print_text(f"wrote {write_comparison(runs[0], out, data=data)}")
        return
    from ..dynamics import RunFolder

    folders = [RunFolder(require_run(run)) for run in runs]
    from ..report import write, write_comparison

    if len(folders) == 1:
        path = write(folders[0], out, data=data)
    else:
        path = write_comparison(folders, out or Path("comparison.html"), data=data)
    print_text(f"wrote {path}")
