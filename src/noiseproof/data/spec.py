"""Spec strings of sources: ``digits``, ``cifar_n(kind="worse")``; parsed with ``ast``, never evaluated."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence
from typing import TypeAlias

Literal: TypeAlias = int | float | str | bool | None
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
    if len(text) > LONGEST:
        raise ValueError(f"a source has at most {LONGEST} characters, this one has {len(text)}")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise ValueError(f"cannot read the source {text!r}: {problem}") from None
    match node:
        case ast.Name(id=name):
            return name, {}
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            return name, _options(keywords, text)
        case ast.Call(func=ast.Name()):
            reason = 'options go by keyword, as in folder(path="photos")'
        case _:
            reason = "expected a name or name(option=value)"
    raise ValueError(f"cannot read the source {text!r}: {reason}")


def nearest(name: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: the nearest known one and all of them."""
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"{hint} (known: {', '.join(known) or 'none'})"


def _options(keywords: list[ast.keyword], text: str) -> dict[str, Literal]:
    found: dict[str, Literal] = {}
    for word in keywords:
        if word.arg is None or word.arg in found:
            problem = "** is not allowed" if word.arg is None else f"{word.arg} is given twice"
            raise ValueError(f"cannot read the source {text!r}: {problem}")
        found[word.arg] = _literal(word.value, text)
    return found


def _literal(node: ast.expr, text: str) -> Literal:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            if type(value) in (int, float):
                return -value
        case ast.Constant(value=value) if type(value) in (int, float, str, bool, type(None)):
            return value  # type: ignore[return-value]
    shown = ast.get_source_segment(text.strip(), node) or ast.unparse(node)
    raise ValueError(f"{shown!r} is no plain number, string, True, False or None in {text!r}")
