"""Docstrings of this library as Markdown: an extension of griffe, which reads them for the API pages."""

import re
import textwrap
from typing import Any

import griffe

SECTION = re.compile(r"^([A-Z][\w ]*):$", re.MULTILINE)
ENTRY = re.compile(r"^([*\w][*\w, ]*): ?", re.MULTILINE)


class Sections(griffe.Extension):
    """``Args:`` becomes a list, ``Example:`` a block of code, any other section a paragraph."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    first, *rest = SECTION.split(docstring)
    parts = [first.strip()]
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        indented = re.match(r"\n((?: {4}.*\n?|\n)*)(.*)", body, re.DOTALL)
        text, after = indented.groups() if indented else (body, "")
        parts += [section(name, textwrap.dedent(text).strip()), after.strip()]
    return "\n\n".join(filter(None, parts))


def section(name: str, text: str) -> str:
    if ">>>" in text:
        return f"**{name}**\n\n```pycon\n{text}\n```"
    if name in ("Args", "Raises"):
        return f"**{name}**\n\n{entries(text)}"
    return f"**{name}:** {text}"


def entries(text: str) -> str:
    """Lines of the form ``name: words`` with what follows, indented."""
    found = ENTRY.split(text)
    pairs = zip(found[1::2], found[2::2], strict=True)
    return "\n".join(f"- `{name}`: {' '.join(words.split())}" for name, words in pairs)
