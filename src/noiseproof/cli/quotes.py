"""Specs whose quotes the shell has eaten."""

from __future__ import annotations

import re

BARE = re.compile(r"=\s*([^\s,()=][^,()=]*?)\s*(?=[,)])")
"""A value, up to the next comma or the end."""
PATH = re.compile(r"[./\\{~:]")
"""What is in most paths and in no name."""


def check_quotes(spec: str) -> None:
    """ValueError for a spec with a path that stands bare; it says how to write it.

    Example:
        >>> check_quotes("csv(path=rows.csv)")
        Traceback (most recent call last):
        ValueError: the quotes around rows.csv are missing, perhaps the shell took them: write 'csv(path="...
        >>> check_quotes('csv(path="rows.csv")'), check_quotes("noisy(rate=0.4)")
        (None, None)
    """
    if "'" in spec or '"' in spec:
        return
    bare = [value for value in BARE.findall(spec) if PATH.search(value) and not _is_number(value)]
    if bare:
        quoted = BARE.sub(lambda found: _quoted(found[1]) if found[1] in bare else found[0], spec)
        raise ValueError(
            f"the quotes around {bare[0]} are missing, perhaps the shell took them: write '{quoted}'"
        )


def _quoted(value: str) -> str:
    """With slashes, since a backslash means something else in a string."""
    return '="{}"'.format(value.replace("\\", "/"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
