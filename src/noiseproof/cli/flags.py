"""Options shared by several commands, and how the help shows flags."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Folds = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Cross-fit the data of the run with this number of folds, such as 5, instead of reading its"
        " record: slower, but finds more wrong labels.",
    ),
]

Engine = Annotated[
    str,
    typer.Option(metavar="<name>", help="local, or ray: a running Ray cluster or a local one."),
]


def hide_flag_types(command: Any) -> None:
    """Show ``--quiet`` instead of ``--quiet <bool>`` in the help of a command and its subcommands."""
    for param in command.params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    make_help = command.get_help_option

    def plain_help(context: Any) -> Any:
        option = make_help(context)
        if option is not None:
            option.metavar = ""
        return option

    command.get_help_option = plain_help
    for subcommand in getattr(command, "commands", {}).values():
        hide_flag_types(subcommand)
