"""Entry point: registers the commands and reports errors in one line."""

from __future__ import annotations

import sys
from functools import cache
from typing import Annotated, Any

import typer

from .. import __version__
from . import data, kernels, labels, papers, recipe
from .compare import compare
from .curve import curve
from .demo import demo
from .doctor import doctor
from .errors import USAGE_ERROR, exit_code, exit_on_signals, one_line, one_line_warnings
from .flags import hide_flag_types
from .predict import predict
from .report import report
from .screen import print_error, show_traceback
from .train import train
from .usage_errors import is_usage, usage_line

app = typer.Typer(
    name="noiseproof",
    help="Train accurate classifiers on labels you cannot trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(train)
app.command()(compare)
app.command()(predict)
app.command()(report)
app.command()(curve)
app.command()(doctor)
app.add_typer(labels.app)
app.add_typer(recipe.app)
app.add_typer(papers.app)
app.add_typer(data.app)
app.add_typer(kernels.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noiseproof {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train accurate classifiers on labels you cannot trust."""


@cache
def root_command() -> Any:
    """The command made from ``app``, which takes 50 ms."""
    command = typer.main.get_command(app)
    hide_flag_types(command)
    return command


def main() -> None:
    """Run the command line; exit with code 2 for errors in the command or its data, 1 for other errors."""
    sys.excepthook = show_traceback
    try:
        with exit_on_signals(), one_line_warnings():
            code = root_command()(prog_name="noiseproof", standalone_mode=False)
    except Exception as problem:
        if is_usage(problem):
            code, line = USAGE_ERROR, usage_line(problem, root_command(), sys.argv[1:])
        else:
            code, line = exit_code(problem), one_line(problem)
        if code is None:
            raise
        if line and not getattr(problem, "is_reported", False):
            print_error(line)
    sys.exit(code)


if __name__ == "__main__":
    main()
