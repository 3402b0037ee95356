"""Specs of sources: ``digits``, ``cifar_n(kind="worse")``."""

from __future__ import annotations

import ast

from ..grammar import Literal, literal, options, read

LONGEST = 4000


def parse_source(text: str) -> tuple[str, dict[str, Literal]]:
    """Name and options of a source.

    Example:
        >>> parse_source('folder(path="photos", size=64)')
        ('folder', {'path': 'photos', 'size': 64})
        >>> parse_source("folder(3)")
        Traceback (most recent call last):
        ValueError: cannot read the source 'folder(3)': options go by keyword, as in folder(path="photos")
    """
    match read(text, "source", LONGEST):
        case ast.Name(id=name):
            return name, {}
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            return name, {word: literal(node, text) for word, node in options(keywords, text).items()}
        case ast.Call(func=ast.Name()):
            reason = 'options go by keyword, as in folder(path="photos")'
        case _:
            reason = "expected a name or name(option=value)"
    raise ValueError(f"cannot read the source {text!r}: {reason}")
