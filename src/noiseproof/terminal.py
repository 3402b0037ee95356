"""Text without control characters of terminals.

Names of classes, columns and files come from unknown sources. A control character in them could move the
cursor, hide text or set the title of the window.
"""

from __future__ import annotations

import re

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, line separators, and marks that change the direction of text."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""Python decodes bytes of a file name that are not UTF-8 to these; they cannot be encoded as text."""


def printable(text: str) -> str:
    r"""Replace control characters by spaces, and bytes that are not UTF-8 by escapes such as \xe9.

    Example:
        >>> printable("=1+1"), printable(chr(27) + "[2J"), printable("caf\udce9")
        ('=1+1', ' [2J', 'caf\\xe9')
    """
    return SURROGATE.sub(_escape, CONTROL.sub(" ", text))


def file_text(path: str) -> str:
    r"""A file name as printable text without loss: characters are escaped as \x1b, backslashes doubled.

    Example:
        >>> print(file_text("cats/1.png"), file_text("cats/caf\udce9.png"), file_text("a\nb\\c"))
        cats/1.png cats/caf\xe9.png a\x0ab\\c
    """
    if not (CONTROL.search(path) or SURROGATE.search(path)):
        return path
    return SURROGATE.sub(_escape, CONTROL.sub(_escape, path.replace("\\", "\\\\")))


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a file name
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
