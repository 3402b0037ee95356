"""Parse specs: one grammar for losses, noise, networks, sources and augmentations.

Text is parsed with ``ast`` and never evaluated. Anything except names, calls and literals is a ValueError
that shows the invalid part.
"""

import ast
import difflib
import io
import tokenize
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import TypeAlias

Literal: TypeAlias = int | float | str | bool | None
PLAIN = (int, float, str, bool, type(None))
MAX_LISTED = 50


@lru_cache(maxsize=1024)
def read(text: str, what: str, longest: int = 1000) -> ast.expr:
    """The syntax tree of a spec, which is cached and must not be modified; ``what`` names it in messages.

    >>> read("gce(q=", "loss spec")
    Traceback (most recent call last):
    ValueError: cannot read the loss spec 'gce(q=': ...
    """
    if len(text) > longest:
        raise ValueError(f"a {what} can have at most {longest} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        tokens = list(tokenize.generate_tokens(io.StringIO(text.strip()).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError) as problem:
        raise ValueError(f"cannot read the {what} {text!r}: {problem}") from None
    if any(token.type == tokenize.COMMENT for token in tokens):
        raise ValueError(f"cannot read the {what} {text!r}: comments are not allowed")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and shown(node, text) != repr(node.id):
            raise ValueError(f"cannot read the {what} {text!r}: {shown(node, text)} is not a plain name")
    return tree


def literal(node: ast.expr, text: str) -> Literal:
    """A number with or without a sign, a string, True, False or None."""
    sign, value = 1, node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign, value = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
    if isinstance(value, ast.Constant) and type(value.value) in PLAIN:
        if type(value.value) in (int, float):
            return sign * value.value  # type: ignore[operator,return-value]
        if value is node:
            return value.value  # type: ignore[return-value]
    raise ValueError(f"{shown(node, text)} is not a plain number, string, True, False or None in {text!r}")


def options(keywords: Iterable[ast.keyword], text: str) -> dict[str, ast.expr]:
    """Keyword arguments by name; ValueError for duplicates and ``**``."""
    found: dict[str, ast.expr] = {}
    for keyword in keywords:
        if keyword.arg is None:
            raise ValueError(f"cannot use {shown(keyword, text)} in {text!r}")
        if keyword.arg in found:
            raise ValueError(f"{keyword.arg!r} is given twice in {text!r}")
        found[keyword.arg] = keyword.value
    return found


def call(text: str, what: str, known: Mapping[str, Collection[str]]) -> tuple[str, dict[str, Literal]]:
    """Parse ``name`` or ``name(option=literal)``; ``known`` maps names to their options.

    >>> call("step(at=3)", "schedule", {"step": ["at"], "constant": []})
    ('step', {'at': 3})
    >>> call("stop", "schedule", {"step": ["at"], "constant": []})
    Traceback (most recent call last):
    ValueError: unknown schedule 'stop', did you mean 'step'? (known: step, constant)
    """
    tree = read(text, what)
    node = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
    if not isinstance(node.func, ast.Name):
        raise ValueError(f"{shown(tree, text)} is not a {what}: write name or name(option=value)")
    if node.args:
        raise ValueError(f"{shown(node.args[0], text)} in {text!r} has no name: write options as name=value")
    name = node.func.id
    if name not in known:
        raise ValueError(unknown(what, name, known))
    found = {word: literal(value, text) for word, value in options(node.keywords, text).items()}
    for word in found:
        if word not in known[name]:
            raise ValueError(f"{name} has no option {word!r}{nearest(word, list(known[name]))}")
    return name, found


def chain(node: ast.expr, operator: type[ast.operator]) -> list[ast.expr]:
    """The operands of a left-nested chain such as ``a + b + c``, in order."""
    parts = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, operator):
        parts.append(node.right)
        node = node.left
    return [node, *reversed(parts)]


def written(name: str, options: Mapping[str, object]) -> str:
    """The spec with this name and these options.

    >>> print(written("csv", {"path": 'my "new" rows.csv', "label": None}), written("digits", {}))
    csv(path='my "new" rows.csv', label=None) digits
    """
    arguments = ", ".join(f"{word}={value!r}" for word, value in options.items())
    return f"{name}({arguments})" if arguments else name


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """A message that suggests the nearest known name and lists all.

    >>> unknown("loss", "gcee", ["ce", "gce"])
    "unknown loss 'gcee', did you mean 'gce'? (known: ce, gce)"
    """
    return f"unknown {what} {name!r}{nearest(name, list(known))}"


def nearest(name: str, known: Sequence[str], also: Sequence[str] = ()) -> str:
    """The end of the message of ``unknown``; names in ``also`` can be suggested but are not listed."""
    near = difflib.get_close_matches(name, [*known, *also], 1, 0.5)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"{hint} (known: {listed(known) or 'none'})"


def listed(words: Sequence[str], separator: str = ", ") -> str:
    """Words for a message: the first ones, and how many follow.

    >>> listed([f"c{number}" for number in range(5000)]).partition("c49, ")[2]
    'and 4,950 more'
    """
    more = [f"and {len(words) - MAX_LISTED:,} more"] if len(words) > MAX_LISTED else []
    return separator.join([*words[:MAX_LISTED], *more])


def shown(node: ast.AST, text: str) -> str:
    """The source text of a node, quoted."""
    segment = ast.get_source_segment(text.strip(), node) or ast.unparse(node)
    return repr(segment if len(segment) <= 80 else segment[:77] + "...")


def check_new(what: str, name: object, factory: object, taken: Container[str]) -> None:
    """ValueError or TypeError unless users may register ``factory`` under ``name``.

    >>> check_new("loss", "ce", dict, {"ce"})
    Traceback (most recent call last):
    ValueError: 'ce' is already a loss of this library: choose another name
    """
    if not isinstance(name, str) or not (name.isascii() and name.isidentifier()) or iskeyword(name):
        raise ValueError(f"{name!r} is not a valid name of a {what}: use letters, digits and underscores")
    if name in taken:
        raise ValueError(f"{name!r} is already a {what} of this library: choose another name")
    if not callable(factory):
        raise TypeError(f"the factory of {name!r} must be callable, got {factory!r}")
