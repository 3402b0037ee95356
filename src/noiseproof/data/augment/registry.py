"""All augmentation steps by name, and augmentations from spec strings, which are never evaluated."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ...grammar import chain, literal, options, read, shown, unknown
from .geometry import CenterCrop, Crop, Flip, Resize, Rotate, Shift
from .pixel_values import Jitter, Normalize, SubtractMean
from .steps import Augmentation, Step

AUGMENTATIONS: dict[str, Callable[..., Step]] = {
    "crop": Crop,
    "center_crop": CenterCrop,
    "flip": Flip,
    "shift": Shift,
    "rotate": Rotate,
    "resize": Resize,
    "jitter": Jitter,
    "normalize": Normalize,
    "subtract_mean": SubtractMean,
}
MAX_STEPS = 50

Spec = str | Sequence[str | Callable[..., Tensor]] | Augmentation | None


def augmentation(spec: Spec) -> Augmentation:
    """An augmentation from a spec string, a list of steps or specs, or None.

    Example:
        >>> augmentation("crop(padding=4) | flip | normalize(cifar10)")
        crop(padding=4) | flip | normalize(cifar10)
        >>> augmentation("crop | flip | normalize(cifar10)").evaluation()
        normalize(cifar10)
        >>> augmentation("crop | flop")
        Traceback (most recent call last):
        ValueError: unknown step 'flop', did you mean 'flip'? (known: ...) in the augmentation 'crop | flop'
    """
    if isinstance(spec, Augmentation):
        return spec
    if spec is None:
        return Augmentation([])
    if isinstance(spec, str):
        return Augmentation(parse(spec))
    steps: list[Callable[..., Tensor]] = []
    for part in spec:
        steps += parse(part) if isinstance(part, str) else [part]
    return Augmentation(steps)


def parse(text: str) -> list[Step]:
    """The steps of ``step | step(...) | ...``; [] for ``none``."""
    text = text.strip()
    nodes = chain(read(text, "augmentation"), ast.BitOr)
    if len(nodes) > MAX_STEPS:
        raise ValueError(f"an augmentation has at most {MAX_STEPS} steps, this one has {len(nodes)}")
    if isinstance(nodes[0], ast.Name) and nodes[0].id == "none" and len(nodes) == 1:
        return []
    return [_step(node, text) for node in nodes]


def _step(node: ast.expr, text: str) -> Step:
    match node:
        case ast.Name(id=name):
            return _build(name, [], {}, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            named = {word: _literal(value, text) for word, value in options(keywords, text).items()}
            return _build(name, [_word(argument, text) for argument in args], named, text)
    raise ValueError(f"cannot use {shown(node, text)} in the augmentation {text!r}")


def _build(name: str, words: list[str], named: dict[str, Any], text: str) -> Step:
    if name not in AUGMENTATIONS:
        raise ValueError(f"{unknown('step', name, AUGMENTATIONS)} in the augmentation {text!r}")
    factory = AUGMENTATIONS[name]
    try:
        inspect.signature(factory).bind(*words, **named)
    except TypeError as problem:
        known = ", ".join(inspect.signature(factory).parameters) or "none"
        raise ValueError(f"{name}: {problem} (parameters: {known}) in the augmentation {text!r}") from None
    return factory(*words, **named)


def _word(node: ast.expr, text: str) -> str:
    match node:
        case ast.Name(id=word) | ast.Constant(value=str(word)):
            return word
    raise ValueError(
        f"{shown(node, text)} in {text!r} is not a name: give parameters by keyword, as in crop(padding=4)"
    )


def _literal(node: ast.expr, text: str) -> object:
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_literal(part, text) for part in node.elts)
    return literal(node, text)
