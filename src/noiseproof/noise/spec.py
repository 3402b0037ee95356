"""Noise specs: ``name(literal, ..., parameter=literal, ...)``, parsed with ``ast`` and never evaluated."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping

from ..grammar import Literal, literal, options, read, shown, unknown
from .base import Noise

MAX_CHARACTERS = 2000


def parse(text: str, registry: Mapping[str, Callable[..., Noise]]) -> Noise:
    """The noise that a spec describes."""
    tree = read(text, "noise spec", MAX_CHARACTERS)
    text = text.strip()
    match tree:
        case ast.Name(id=name):
            return _build(text, name, [], {}, registry)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            named = {word: literal(node, text) for word, node in options(keywords, text).items()}
            return _build(text, name, [literal(argument, text) for argument in args], named, registry)
    raise ValueError(
        f"cannot use {shown(tree, text)} as a noise spec: write name(rate, parameter=value), as in"
        " symmetric(0.4)"
    )


def _build(
    text: str,
    name: str,
    values: list[Literal],
    named: dict[str, Literal],
    registry: Mapping[str, Callable[..., Noise]],
) -> Noise:
    if name not in registry:
        raise ValueError(f"{unknown('noise', name, sorted(registry))} in {text!r}")
    signature = inspect.signature(registry[name])
    for parameter in named:
        if parameter not in signature.parameters:
            known = list(signature.parameters)
            raise ValueError(f"{unknown(f'parameter of {name}', parameter, known)} in {text!r}")
    try:
        signature.bind(*values, **named)
    except TypeError as problem:
        wanted = ", ".join(str(p).split(":")[0] for p in signature.parameters.values())
        raise ValueError(f"{name}({wanted}): {problem} in {text!r}") from None
    return registry[name](*values, **named)
