"""What the command line shows: every line and every cell goes through here and has no control characters."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

import typer

from ..terminal import printable

if TYPE_CHECKING:
    from rich.console import Console


def complain(words: str) -> None:
    """An error or a warning: one line on stderr."""
    sys.stderr.write(f"noiseproof: {' '.join(printable(words).split())}\n")
    sys.stderr.flush()


def tell(text: str, *, err: bool = False) -> None:
    """Lines of ordinary text, on stdout by default."""
    typer.echo(_lines(text), err=err)


def cell(text: object) -> str:
    """Text for a table or a line of rich: its brackets are not markup."""
    from rich.markup import escape

    return escape(_lines(str(text)))


def console() -> Console:
    """Where tables are printed."""
    from rich.console import Console

    return Console(emoji=False, highlight=False)


def show_traceback(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """A mistake of the library, as Python shows it, less the control characters."""
    import traceback

    for line in "".join(traceback.format_exception(kind, problem, trace)).split("\n"):
        sys.stderr.write(printable(line) + "\n")


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
