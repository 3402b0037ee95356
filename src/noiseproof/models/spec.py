"""Spec strings of networks: ``name`` or ``name(option=literal, ...)``, read with ``ast``, never evaluated."""

import ast
import difflib
import re
from collections.abc import Iterable
from typing import TypeAlias

Literal: TypeAlias = int | float | str | bool | None

LONGEST = 1000
SHAPE = re.compile(r"\s*([A-Za-z_][\w.:/-]*)\s*(\(.*\))?\s*", re.ASCII | re.DOTALL)


def parse(text: str) -> tuple[str, dict[str, Literal]]:
    """Name and options of a network.

    >>> parse('resnet34(stem="imagenet")')
    ('resnet34', {'stem': 'imagenet'})
    >>> parse("timm:vit_tiny_patch16_224")
    ('timm:vit_tiny_patch16_224', {})
    """
    if len(text) > LONGEST:
        raise ValueError(f"a model spec has at most {LONGEST} characters, this one has {len(text)}")
    parts = SHAPE.fullmatch(text)
    if parts is None:
        raise ValueError(f"cannot read the model spec {text!r}: write name or name(option=value)")
    name, call = parts.groups()
    return name, _options(call, text) if call else {}


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """A message that names the nearest known word and lists all."""
    words = list(known)
    near = difflib.get_close_matches(name, words, 1, 0.5)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {name!r}{hint} (known: {', '.join(words) or 'none'})"


def _options(call: str, text: str) -> dict[str, Literal]:
    try:
        tree = ast.parse(f"_{call}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise ValueError(f"cannot read the model spec {text!r}: {problem}") from None
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)):
        raise ValueError(f"cannot read the model spec {text!r}: write name or name(option=value)")
    if tree.args:
        raise ValueError(
            f"{ast.unparse(tree.args[0])!r} in {text!r} has no name: options go by keyword, as in"
            ' resnet34(stem="imagenet")'
        )
    options: dict[str, Literal] = {}
    for keyword in tree.keywords:
        if keyword.arg is None:
            raise ValueError(f"cannot use {ast.unparse(keyword)!r} in the model spec {text!r}")
        if keyword.arg in options:
            raise ValueError(f"{keyword.arg!r} stands twice in the model spec {text!r}")
        options[keyword.arg] = _literal(keyword.value, text)
    return options


def _literal(node: ast.expr, text: str) -> Literal:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand, text)
        if type(value) in (int, float):
            return -value  # type: ignore[operator]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool, type(None)):
        return node.value  # type: ignore[return-value]
    raise ValueError(f"{ast.unparse(node)!r} is no plain number, string, True, False or None in {text!r}")
