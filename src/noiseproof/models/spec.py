"""Spec strings of networks: ``name`` or ``name(option=literal, ...)``, read with ``ast``, never evaluated."""

import ast
import re
from collections.abc import Mapping

from ..grammar import Literal, literal, options, read

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
    return name, _options("_" * len(name) + call, text) if call else {}


def spec_text(name: str, options: Mapping[str, Literal]) -> str:
    """The spec that is read as this name and these options.

    >>> spec_text("mlp", {"hidden": "8"})
    "mlp(hidden='8')"
    """
    told = ", ".join(f"{word}={value!r}" for word, value in options.items())
    return f"{name}({told})" if told else name


def _options(call: str, text: str) -> dict[str, Literal]:
    tree = read(call, "model spec")
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)):
        raise ValueError(f"cannot read the model spec {text!r}: write name or name(option=value)")
    if tree.args:
        raise ValueError(
            f"{ast.unparse(tree.args[0])!r} in {text!r} has no name: options go by keyword, as in"
            ' resnet34(stem="imagenet")'
        )
    return {name: literal(node, text) for name, node in options(tree.keywords, text).items()}
