"""``noiseproof labels review``: review suspects on a local web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .flags import Folds
from .paths import require_run
from .screen import print_text

MISSING = "labels review needs starlette and uvicorn: pip install 'noiseproof[review]'"


def review_labels(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    data: Annotated[
        str | None, typer.Option(help="Source of the inputs, if it has moved since the run was trained.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all samples, not only suspects.")] = False,
    folds: Folds = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    reviewer: Annotated[str | None, typer.Option(help="Name that is stored with your decisions.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 picks a free port.")] = 0,
) -> None:
    """Show the suspects of a run on a local page, worst first; decisions are saved to decisions.jsonl."""
    run = require_run(run)
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ImportError(MISSING) from None
    from ..review import review

    def ready(address: str) -> None:
        print_text(f"Review the labels of {run} at\n  {address}")
        print_text(f"Decisions are saved to {run / 'decisions.jsonl'}; press Ctrl-C to stop.")

    review(
        run,
        data,
        everything=everything,
        folds=folds,
        port=port,
        open_page=open_page,
        reviewer=reviewer,
        ready=ready,
    )
