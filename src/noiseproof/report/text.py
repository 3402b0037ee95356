"""Format names, shares and counts as text."""

from __future__ import annotations

from ..terminal import CONTROL, SURROGATE

NONE = "\N{EN DASH}"
"""Shown in place of a missing number."""


def one_line(text: object, max_length: int = 60) -> str:
    """Text of the user in one line, without control characters, shortened to ``max_length`` characters.

    Example:
        >>> one_line("cat\\x1b[31m\\n dog"), one_line("a" * 99, 8)
        ('cat[31m dog', 'aaaaaaa…')
    """
    line = " ".join(str(text).split())
    line = " ".join(SURROGATE.sub("", CONTROL.sub("", line)).split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


def figure_text(text: object, max_length: int = 24) -> str:
    """``one_line`` for a figure, where dollar signs are escaped, which would begin a formula.

    Example:
        >>> figure_text("5$ and 6$")
        '5\\\\$ and 6\\\\$'
    """
    return one_line(text, max_length).replace("$", r"\$")


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent; an en dash for None.

    Example:
        >>> percent(0.123), percent(None), percent(0.9996), percent(0.0004, 0)
        ('12.3%', '–', '>99.9%', '<1%')
    """
    if share is None or share != share:
        return NONE
    step = 10.0**-digits
    if share < 1 and f"{100 * share:.{digits}f}" == f"{100:.{digits}f}":
        return f">{100 - step:.{digits}f}%"
    if share > 0 and f"{100 * share:.{digits}f}" == f"{0:.{digits}f}":
        return f"<{step:.{digits}f}%"
    return f"{100 * share:.{digits}f}%"


def points(difference: float) -> str:
    """The absolute difference of two shares in percentage points.

    Example:
        >>> points(-0.214)
        '21.4 points'
    """
    return f"{abs(100 * difference):.1f} points"


def count(number: int, noun: str = "", plural: str = "") -> str:
    """A number with thousands separators, and a noun in singular or plural.

    Example:
        >>> count(50000, "sample"), count(1, "class", "classes"), count(12)
        ('50,000 samples', '1 class', '12')
    """
    words = noun if number == 1 else plural or f"{noun}s"
    return f"{number:,} {words}" if noun else f"{number:,}"
