"""Spec strings of networks: ``name`` or ``name(option=literal, ...)``, read with ``ast``, never evaluated."""

import ast
import re

from ..grammar import Literal, literal, options, read, written

MAX_CHARACTERS = 1000
DOWNLOADED = ("hf-hub:", "hf_hub:", "local-dir:")
"""Prefixes of names whose networks timm loads from elsewhere."""
SHAPE = re.compile(r"\s*([A-Za-z_][\w.:/-]*)\s*(\(.*\))?\s*", re.ASCII | re.DOTALL)


def parse(text: str) -> tuple[str, dict[str, Literal]]:
    """Name and options of a network.

    >>> parse('resnet34(stem="imagenet")')
    ('resnet34', {'stem': 'imagenet'})
    >>> parse("timm:vit_tiny_patch16_224")
    ('timm:vit_tiny_patch16_224', {})
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a model spec has at most {MAX_CHARACTERS} characters, this one has {len(text)}")
    parts = SHAPE.fullmatch(text)
    if parts is None:
        raise ValueError(f"cannot read the model spec {text!r}: write name or name(option=value)")
    name, call = parts.groups()
    return name, _options("_" * len(name) + call, text) if call else {}


def without_download(spec: str) -> str:
    """The spec of a network whose weights come from a file, so that nothing is downloaded to build it.

    Example:
        >>> without_download("timm:vit_tiny_patch16_224(pretrained=True)"), without_download("mlp(norm=True)")
        ('timm:vit_tiny_patch16_224', 'mlp(norm=True)')
    """
    name, options = parse(spec)
    package, _, rest = name.partition(":")
    if package != "timm":
        return spec
    if rest.startswith(DOWNLOADED):
        raise ValueError(
            f"the network {name!r} would have to be downloaded: build it yourself and pass it as model=..."
        )
    kept = {word: value for word, value in options.items() if not word.startswith("pretrained")}
    return written(name, kept)


def _options(call: str, text: str) -> dict[str, Literal]:
    tree = read(call, "model spec")
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)):
        raise ValueError(f"cannot read the model spec {text!r}: write name or name(option=value)")
    if tree.args:
        raise ValueError(
            f"{ast.unparse(tree.args[0])!r} in {text!r} has no name: options are passed by keyword, as in"
            ' resnet34(stem="imagenet")'
        )
    return {name: literal(node, text) for name, node in options(tree.keywords, text).items()}
