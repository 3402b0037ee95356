"""Output of the command line; all lines and cells are printed here, without control characters."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

import typer

from ..terminal import printable

if TYPE_CHECKING:
    from rich.console import Console


def print_error(words: str) -> None:
    """Print an error or a warning as one line on stderr."""
    sys.stderr.write(f"noiseproof: {' '.join(printable(words).split())}\n")
    sys.stderr.flush()


def print_text(text: str, *, err: bool = False) -> None:
    """Print text, by default on stdout."""
    typer.echo(_lines(text), err=err)


def cell(text: object) -> str:
    """Text for rich, with brackets escaped, which would be markup."""
    from rich.markup import escape

    return escape(_lines(str(text)))


def console() -> Console:
    """The rich console of tables."""
    from rich.console import Console

    return Console(emoji=False, highlight=False)


def show_traceback(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a bug as Python does, without control characters."""
    import traceback

    for line in "".join(traceback.format_exception(kind, problem, trace)).split("\n"):
        sys.stderr.write(printable(line) + "\n")


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
