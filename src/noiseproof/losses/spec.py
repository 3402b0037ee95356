"""Loss specs: ``name``, ``name(loss, ..., parameter=literal, ...)``, sums and positive factors.

Names are looked up in a registry; see :mod:`noiseproof.grammar` for what is not allowed.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping

from ..grammar import chain, literal, options, read, shown, unknown
from .base import Loss, add, multiply

MAX_LENGTH = 1000
MAX_DEPTH = 20
OUTER = ("reduction", "ignore_index", "weight")


def parse(text: str, registry: Mapping[str, Callable[..., Loss]]) -> Loss:
    """The loss that a spec describes."""
    return _Builder(text.strip(), registry).loss(read(text, "loss spec", MAX_LENGTH), 0)


class _Builder:
    def __init__(self, text: str, registry: Mapping[str, Callable[..., Loss]]) -> None:
        self.text = text
        self.registry = registry

    def loss(self, node: ast.expr, depth: int) -> Loss:
        if depth > MAX_DEPTH:
            raise ValueError(f"the loss spec is nested deeper than {MAX_DEPTH}: {self.text!r}")
        match node:
            case ast.Name(id=name):
                return self.build(node, name, [], {})
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                parts = [self.loss(argument, depth + 1) for argument in args]
                return self.build(node, name, parts, self.parameters(keywords))
            case ast.BinOp(op=ast.Add()):
                return functools.reduce(add, [self.loss(term, depth + 1) for term in chain(node, ast.Add)])
            case ast.BinOp(left=ast.Constant() as factor, op=ast.Mult(), right=right):
                if type(number := literal(factor, self.text)) not in (int, float):
                    raise ValueError(f"{shown(factor, self.text)} in {self.text!r} is not a number")
                return multiply(number, self.loss(right, depth + 1))
            case ast.Constant() | ast.UnaryOp():
                raise ValueError(
                    f"{shown(node, self.text)} is not a loss in {self.text!r}: hyper-parameters"
                    " are passed by keyword, as in gce(q=0.7) or scale(mae, tau=2.6)"
                )
        raise ValueError(f"cannot use {shown(node, self.text)} in the loss spec {self.text!r}")

    def parameters(self, keywords: list[ast.keyword]) -> dict[str, object]:
        for keyword in keywords:
            if keyword.arg in OUTER:
                raise ValueError(f"cannot use {shown(keyword, self.text)} in the loss spec {self.text!r}")
        return {name: literal(node, self.text) for name, node in options(keywords, self.text).items()}

    def build(self, node: ast.expr, name: str, parts: list[Loss], parameters: dict[str, object]) -> Loss:
        if name not in self.registry:
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
                f"{name} takes {wanted or 'no'} inner loss, got {len(parts)}: {shown(node, self.text)}"
            )
        made = factory(*parts, **parameters)
        if not isinstance(made, Loss):
            raise TypeError(f"the factory registered as {name!r} returned {made!r}, which is not a Loss")
        return made
