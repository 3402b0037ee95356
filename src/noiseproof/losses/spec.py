"""Spec strings: one grammar for Python, command line, configs and file names.

``name``, ``name(loss, ..., parameter=literal, ...)``, sums and positive factors. Parsed with ``ast``,
never evaluated: names are looked up in a registry, values are literals, everything else is refused.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import io
import tokenize
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

from .algebra import add, multiply

if TYPE_CHECKING:
    from .base import Loss

LONGEST = 1000
DEEPEST = 20
OUTER = ("reduction", "ignore_index", "weight")


def parse(text: str, registry: Mapping[str, Callable[..., Loss]]) -> Loss:
    """The loss a spec describes."""
    if len(text) > LONGEST:
        raise ValueError(f"a loss spec has at most {LONGEST} characters, this one has {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        tokens = list(tokenize.generate_tokens(io.StringIO(text.strip()).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError) as problem:
        raise ValueError(f"cannot read the loss spec {text!r}: {problem}") from None
    if any(token.type == tokenize.COMMENT for token in tokens):
        raise ValueError(f"a loss spec has no comments: {text!r}")
    return _Builder(text.strip(), registry).loss(tree, 0)


def summands(node: ast.expr) -> list[ast.expr]:
    """The terms of a sum, which Python nests to the left, in order."""
    terms = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        terms.append(node.right)
        node = node.left
    return [node, *reversed(terms)]


def unknown(what: str, name: str, known: list[str]) -> str:
    """A message that names the nearest known word and lists all."""
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {name!r}{hint} (known: {', '.join(known) or 'none'})"


class _Builder:
    def __init__(self, text: str, registry: Mapping[str, Callable[..., Loss]]) -> None:
        self.text = text
        self.registry = registry

    def loss(self, node: ast.expr, depth: int) -> Loss:
        if depth > DEEPEST:
            raise ValueError(f"the loss spec is nested deeper than {DEEPEST}: {self.text!r}")
        match node:
            case ast.Name(id=name):
                return self.build(node, name, [], {})
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                parts = [self.loss(argument, depth + 1) for argument in args]
                return self.build(node, name, parts, self.parameters(name, keywords))
            case ast.BinOp(op=ast.Add()):
                terms = [self.loss(term, depth + 1) for term in summands(node)]
                return functools.reduce(add, terms)
            case ast.BinOp(left=ast.Constant() as factor, op=ast.Mult(), right=right):
                return multiply(self.literal(factor), self.loss(right, depth + 1))
        if isinstance(node, (ast.Constant, ast.UnaryOp)):
            raise ValueError(
                f"{self.shown(node)} stands where a loss belongs in {self.text!r}: hyper-parameters go by"
                " keyword, as in gce(q=0.7) or scale(mae, tau=2.6)"
            )
        raise ValueError(f"cannot use {self.shown(node)} in the loss spec {self.text!r}")

    def parameters(self, name: str, keywords: list[ast.keyword]) -> dict[str, object]:
        found: dict[str, object] = {}
        for keyword in keywords:
            if keyword.arg is None or keyword.arg in OUTER:
                raise ValueError(f"cannot use {self.shown(keyword)} in the loss spec {self.text!r}")
            if keyword.arg in found:
                raise ValueError(f"{name} is given {keyword.arg} twice in {self.text!r}")
            found[keyword.arg] = self.literal(keyword.value)
        return found

    def literal(self, node: ast.expr) -> Any:
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            sign, node = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
            if not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
                raise ValueError(f"a sign needs a number, not {self.shown(node)}, in {self.text!r}")
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool, type(None)):
            return sign * node.value if type(node.value) in (int, float) else node.value  # type: ignore[operator]
        raise ValueError(
            f"{self.shown(node)} is no plain number, string, True, False or None in {self.text!r}"
        )

    def build(self, node: ast.expr, name: str, parts: list[Loss], parameters: dict[str, object]) -> Loss:
        if name not in self.registry or (not self.text.isascii() and name not in self.text):
            raise ValueError(f"{unknown('loss', name, sorted(self.registry))} in {self.text!r}")
        factory = self.registry[name]
        allowed = inspect.signature(factory).parameters
        for parameter in parameters:
            if parameter not in allowed or parameter in ("inner", "outer"):
                known = [p for p in allowed if p not in ("inner", "outer")]
                raise ValueError(f"{unknown(f'parameter of {name}', parameter, known)} in {self.text!r}")
        wanted = int("inner" in allowed)
        if len(parts) != wanted:
            raise ValueError(
                f"{name} takes {wanted or 'no'} inner loss, got {len(parts)}: {self.shown(node)}"
            )
        made = factory(*parts, **parameters)
        if not isinstance(made, nn.Module):
            raise TypeError(f"the factory registered as {name!r} made {made!r}, which is no loss")
        return made

    def shown(self, node: ast.AST) -> str:
        segment = ast.get_source_segment(self.text, node) or ast.unparse(node)
        return repr(segment if len(segment) <= 80 else segment[:77] + "...")
