"""``noiseproof labels review``: a page on this machine to look at suspects and decide."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .flags import Folds
from .places import one_run
from .screen import tell

MISSING = "labels review needs starlette and uvicorn: pip install 'noiseproof[review]'"


def review_labels(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    data: Annotated[
        str | None, typer.Option(help="Where the inputs are now, if not where the run found them.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every sample, not only the suspects.")] = False,
    folds: Folds = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    reviewer: Annotated[str | None, typer.Option(help="Name written beside your decisions.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 0,
) -> None:
    """Show the suspects of a run on a local page, worst first; decisions.jsonl keeps what you decide."""
    run = one_run(run)
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ImportError(MISSING) from None
    from ..review import review

    def ready(address: str) -> None:
        tell(f"Review the labels of {run} at\n  {address}")
        tell(f"Decisions are kept in {run / 'decisions.jsonl'}; Ctrl-C ends.")

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
