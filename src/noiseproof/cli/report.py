"""``noiseproof report``: one HTML file per run, or one that compares several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .places import one_run
from .screen import tell


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Folder of a run, or of a comparison; several runs are compared.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write: by default RUN/report.html, or comparison.html."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Where the inputs are now, if not where the run found them.")
    ] = None,
) -> None:
    """Write a self-contained HTML report: summary, figures, suspects with thumbnails."""
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"cannot write {out}: the report is an .html file")
    from ..report.comparison import is_comparison

    if len(runs) == 1 and is_comparison(runs[0]):
        from ..report import write_comparison

        tell(f"wrote {write_comparison(runs[0], out, data=data)}")
        return
    from ..dynamics import RunFolder

    folders = [RunFolder(one_run(run)) for run in runs]
    from ..report import write, write_comparison

    if len(folders) == 1:
        path = write(folders[0], out, data=data)
    else:
        path = write_comparison(folders, out or Path("comparison.html"), data=data)
    tell(f"wrote {path}")
