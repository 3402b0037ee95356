"""Specs of sources: ``digits``, ``cifar_n(kind="worse")``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePath

from ..grammar import Literal, literal, options, read

LONGEST = 4000
IN_MEMORY = "memory"
"""Source that stands in the settings of a run for data that was passed in Python."""


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


def source_of_path(text: str) -> str | None:
    """The source somebody means who gives a path alone; None for what can be a source.

    Example:
        >>> source_of_path("my rows.csv"), source_of_path("digits")
        ('csv(path="my rows.csv")', None)
    """
    kinds = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".npz": "npz", ".npy": "arrays"}
    path = PurePath(text)
    if "(" in text or not (path.suffix.lower() in kinds or "/" in text or "\\" in text):
        return None
    return f'{kinds.get(path.suffix.lower(), "folder")}(path="{path.as_posix()}")'


def source_text(name: str, options: Mapping[str, Literal]) -> str:
    """The spec that is read as this name and these options.

    Example:
        >>> print(source_text("csv", {"path": 'my "new" rows.csv', "label": None}))
        csv(path='my "new" rows.csv', label=None)
    """
    told = ", ".join(f"{word}={value!r}" for word, value in options.items())
    return f"{name}({told})" if told else name
