"""Errors in the command line itself, reported in one line with a suggestion."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any


def is_usage(problem: BaseException) -> bool:
    """Whether the error is a ClickException; compared by name, as typer bundles its own click."""
    return any(kind.__name__ == "ClickException" for kind in type(problem).__mro__)


def usage_line(problem: Any, root: Any, words: Sequence[str]) -> str:
    """The error, the nearest option and the command that shows the help; "" if the help was printed.

    Args:
        problem: the exception of typer.
        root: the root command.
        words: the arguments of the command line, without the program.
    """
    kind = type(problem).__name__
    if kind == "NoArgsIsHelpError":
        return ""
    command, path = _subcommand(root, words)
    if kind == "NoSuchOption":
        message = f"no such option {problem.option_name}{_nearest(problem.option_name, command)}"
    elif kind == "MissingParameter":
        message = f"{_plain(problem)}: {_lowered(problem.param.help).rstrip('.')}"
    else:
        message = _bad_value(problem) or _plain(problem)
    return f"{message} (see {path} --help)"


def _subcommand(root: Any, words: Sequence[str]) -> tuple[Any, str]:
    """The subcommand that the first words name, and its path as text."""
    command, path = root, "noiseproof"
    for word in words:
        subcommand = getattr(command, "commands", {}).get(word)
        if subcommand is None:
            break
        command, path = subcommand, f"{path} {word}"
    return command, path


def _nearest(option: str, command: Any) -> str:
    known = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
    near = difflib.get_close_matches(option, [*known, "--help"], 1, 0.6)
    return f", did you mean {near[0]}?" if near else ""


def _bad_value(problem: Any) -> str | None:
    """The value and the reason, for errors whose message in typer lacks the value."""
    errors, param = getattr(problem.__cause__, "errors", None), getattr(problem, "param", None)
    if errors is None or param is None:
        return None
    found = errors()[0]
    reason = str(found["msg"]).partition(", unable to")[0]
    return f"{param.opts[0]} {found['input']!r}: {_lowered(reason)}"


def _plain(problem: Any) -> str:
    message = " ".join(problem.format_message().split()).rstrip(".")
    if message.startswith("Got unexpected extra argument"):
        extra = message.partition(" (")[2].removesuffix(")")
        return f"unexpected {extra!r}: options begin with --, and a value with spaces needs quotes"
    return _lowered(message.replace(". Did you mean", ", did you mean"))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
