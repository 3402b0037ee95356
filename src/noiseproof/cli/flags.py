"""Options without a value, and how the help shows them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Folds = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Cross-fit the data of the run in so many parts, such as 5, instead of reading its record:"
        " slower, and finds more.",
    ),
]

Engine = Annotated[
    str, typer.Option(metavar="<name>", help="local, or ray: the Ray cluster that is there, or one here.")
]


class Verbs(TyperGroup):
    """All verbs, whose help says ``--quiet`` and not ``--quiet <bool>``."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        _leave_types_out(self)
        return super().main(*arguments, **options)


def _leave_types_out(command: Any) -> None:
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
    for below in getattr(command, "commands", {}).values():
        _leave_types_out(below)
