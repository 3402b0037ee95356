"""Nested states as named tensors and plain JSON, and back.

``optimizer.state_dict()`` and its like are dicts and lists of numbers and tensors, some keys whole numbers.
Tensors go to a safetensors file; the rest is JSON, and what JSON lacks is an object with one marked key:
``{"$tensor": name}``, ``{"$tuple": [...]}``, ``{"$float": "nan"}``, ``{"$dict": [[key, value], ...]}``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

from torch import Tensor

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
MARK = "$"


def flatten(nested: object) -> tuple[dict[str, Tensor], Any]:
    """Take the tensors out of nested dicts, lists, tuples, numbers, strings and None.

    A dict with strings as keys stays a dict, as ``checkpoint.save`` wants its state.

    Example:
        >>> import torch
        >>> tensors, state = flatten({"lr": 0.1, "state": {0: {"momentum_buffer": torch.ones(2)}}})
        >>> tensors
        {'state.0.momentum_buffer': tensor([1., 1.])}
        >>> state
        {'lr': 0.1, 'state': {'$dict': [[0, {'momentum_buffer': {'$tensor': 'state.0.momentum_buffer'}}]]}}
        >>> unflatten(tensors, state)
        {'lr': 0.1, 'state': {0: {'momentum_buffer': tensor([1., 1.])}}}
    """
    tensors: dict[str, Tensor] = {}
    return tensors, _encoded(nested, "", tensors)


def unflatten(tensors: Mapping[str, Tensor], state: JSON) -> Any:
    """What ``flatten`` was given, with the tensors as they are now."""
    if isinstance(state, list):
        return [unflatten(tensors, value) for value in state]
    if not isinstance(state, dict):
        return state
    mark, content = next(iter(state.items()), ("", None))
    if not mark.startswith(MARK):
        return {key: unflatten(tensors, value) for key, value in state.items()}
    if mark == "$tensor" and content in tensors:
        return tensors[str(content)]
    if mark == "$float" and isinstance(content, str):
        return float(content)
    if mark == "$tuple" and isinstance(content, list):
        return tuple(unflatten(tensors, value) for value in content)
    if mark in ("$dict", "$counter") and isinstance(content, list):
        pairs = {key: unflatten(tensors, value) for key, value in content}  # type: ignore[misc,str-unpack,union-attr]
        return Counter(pairs) if mark == "$counter" else pairs
    raise ValueError(
        f"cannot read {mark} {content!r}: no such tensor, or a later version of noiseproof wrote it"
    )


def _encoded(value: object, path: str, tensors: dict[str, Tensor]) -> JSON:
    if isinstance(value, Tensor):
        name = path
        while name in tensors:
            name += "'"
        tensors[name] = value
        return {"$tensor": name}
    if isinstance(value, Mapping):
        return _encoded_dict(value, path, tensors)
    if isinstance(value, (list, tuple)):
        values = [_encoded(part, _below(path, place), tensors) for place, part in enumerate(value)]
        return {"$tuple": values} if isinstance(value, tuple) else values
    return _encoded_scalar(value, path)


def _encoded_scalar(value: object, path: str) -> JSON:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    raise TypeError(
        f"{path or 'the state'} = {value!r} of {type(value).__name__} cannot be stored:"
        " give numbers, strings, None, tensors, or dicts, lists and tuples of them"
    )


def _encoded_dict(value: Mapping[object, object], path: str, tensors: dict[str, Tensor]) -> JSON:
    pairs = []
    for key, part in value.items():
        if not (key is None or isinstance(key, (str, int))):
            raise TypeError(f"{path or 'the state'} has the key {key!r}: keys are strings and whole numbers")
        pairs.append((key, _encoded(part, _below(path, key), tensors)))
    if isinstance(value, Counter):
        return {"$counter": [[_encoded_scalar(key, path), part] for key, part in pairs]}
    if all(isinstance(key, str) and not key.startswith(MARK) for key, part in pairs):
        return {str(key): part for key, part in pairs}
    return {"$dict": [[_encoded_scalar(key, path), part] for key, part in pairs]}


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
