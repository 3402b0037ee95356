"""Options shared by several commands, and how the help shows flags."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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


class Commands(TyperGroup):
    """A group of commands whose help shows ``--quiet`` instead of ``--quiet <bool>``."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        _hide_flag_types(self)
        return super().main(*arguments, **options)


def _hide_flag_types(command: Any) -> None:
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
        _hide_flag_types(subcommand)
