"""Detects specs whose quotes were removed by the shell."""

from __future__ import annotations

import re

BARE = re.compile(r"=\s*([^\s,()=][^,()=]*?)\s*(?=[,)])")
"""A value, up to the next comma or the end."""
PATH = re.compile(r"[./\\{~:]")
"""Characters that most paths contain and names do not."""


def check_quotes(spec: str) -> None:
    """ValueError for a spec with an unquoted path; the message shows the quoted spec.

    Example:
        >>> check_quotes("csv(path=rows.csv)")
        Traceback (most recent call last):
        ValueError: the quotes around rows.csv are missing, perhaps the shell removed them: write '...
        >>> check_quotes('csv(path="rows.csv")'), check_quotes("noisy(rate=0.4)")
        (None, None)
    """
    if "'" in spec or '"' in spec:
        return
    bare = [value for value in BARE.findall(spec) if PATH.search(value) and not _is_number(value)]
    if bare:
        quoted = BARE.sub(lambda found: _quoted(found[1]) if found[1] in bare else found[0], spec)
        raise ValueError(
            f"the quotes around {bare[0]} are missing, perhaps the shell removed them: write '{quoted}'"
        )


def _quoted(value: str) -> str:
    """The quoted value, with slashes instead of backslashes, which would be escapes in a string."""
    return '="{}"'.format(value.replace("\\", "/"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
