"""Checkpoints: one safetensors file per step with tensors, the rest of the state as JSON, and a checksum.

``optimizer.state_dict()`` and similar states are nested dicts and lists of numbers and tensors, with string
or integer keys. Tensors are stored as tensors of the file; everything else is JSON in its metadata, where
values that JSON does not have are objects with one marked key: ``{"$tensor": name}``, ``{"$tuple": [...]}``,
``{"$float": "nan"}``, ``{"$dict": [[key, value], ...]}``. Nothing is ever unpickled.

Version 0.1.0 wrote two files per step, tensors and a JSON file; they are still read.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .. import __version__, atomic, files
from ..files import DamagedFileError
from ..memory import available_memory

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
FORMAT = 2
KEPT = 2
"""Number of checkpoints that are kept."""
NAME = re.compile(r"step-(\d{9,})(-again)?\.(safetensors|json)")
ENTRIES = {"format", "noiseproof", "torch", "step", "state"}
"""Entries of the metadata."""
MARK = "$"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after ``step`` steps: tensors in main memory, and everything else as JSON."""

    step: int
    tensors: dict[str, Tensor]
    plain: Any

    @property
    def state(self) -> Any:
        """The nested state that was saved."""
        return unflatten(self.tensors, self.plain)


def save(folder: str | os.PathLike[str], *, step: int, state: object) -> None:
    """Write the checkpoint of a step, then remove all others except the previous one.

    When ``save`` returns, ``newest`` finds this checkpoint even if the process is killed; before that, and
    after any error, it finds the previous one. Checkpoints of later steps are removed too: they exist only if
    they could not be read.

    Example:
        >>> import tempfile, torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(folder, step=7, state={"w": torch.ones(2), "lr": 0.1})
        ...     print(os.listdir(folder))
        ...     newest(folder).state
        ['step-000000007.safetensors']
        {'w': tensor([1., 1.]), 'lr': 0.1}
    """
    if type(step) is not int or step < 0:
        raise ValueError(f"step={step!r} must be a whole number, 0 or more")
    tensors, plain = flatten(state)
    content = {
        "format": str(FORMAT),
        "noiseproof": __version__,
        "torch": torch.__version__,
        "step": str(step),
        "state": json.dumps(plain, allow_nan=False),
    }
    atomic.make_folder(folder)
    path = Path(folder, f"step-{step:09d}.safetensors")
    atomic.write_tensors(path, tensors, content, checked=True)
    kept = {step, *[other for other in _steps(path.parent) if other < step][: KEPT - 1]}
    replaced = path.with_suffix(".json").name  # of version 0.1.0
    for name in os.listdir(folder):
        if (found := NAME.fullmatch(name)) and (int(found[1]) not in kept or name == replaced):
            os.unlink(path.with_name(name))


def newest(folder: str | os.PathLike[str]) -> Checkpoint | None:
    """The newest readable checkpoint, or None; a warning names each damaged one."""
    for step in _steps(Path(folder)):
        path = Path(folder, f"step-{step:09d}.safetensors")
        try:
            old = path.with_suffix(".json")
            return _read_0_1_0(old) if old.exists() else _read(path, step)
        except DamagedFileError as problem:
            warnings.warn(f"{problem}; using the previous checkpoint", stacklevel=2)
    return None


def exists(folder: Path) -> bool:
    """Whether a folder has any checkpoint, readable or not."""
    return bool(_steps(folder))


def _steps(folder: Path) -> list[int]:
    """Steps with a checkpoint, the newest first."""
    names = os.listdir(folder) if folder.is_dir() else []
    return sorted({int(found[1]) for name in names if (found := NAME.fullmatch(name))}, reverse=True)


def _read(path: Path, step: int) -> Checkpoint:
    tensors, content = files.read_tensors(path, available_memory())
    if content.keys() != ENTRIES or not content["format"].isdecimal():
        raise DamagedFileError(path, "it does not have the entries of a checkpoint")
    if int(content["format"]) > FORMAT:
        raise ValueError(
            f"{path} has format {content['format']}, this version of noiseproof reads format {FORMAT}: use"
            f" noiseproof {content['noiseproof']} or later, or another folder"
        )
    if content["step"] != str(step):
        raise DamagedFileError(path, f"it is the checkpoint of step {content['step']} with a wrong file name")
    copies = {name: tensor.clone() for name, tensor in tensors.items()}  # the file may be removed
    return Checkpoint(step, copies, files.parse_json(content["state"]))


def _read_0_1_0(path: Path) -> Checkpoint:
    """A checkpoint of two files: the JSON file names the tensor file and has the checksums of both."""
    from safetensors.torch import load

    content = files.read_json(path)
    expected = content.pop("checksum", None)
    if hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() != expected:
        raise DamagedFileError(path, "its checksum is wrong")
    data = files.read_bytes(path.with_name(content["tensors"]), available_memory())
    if hashlib.sha256(data).hexdigest() != content["sha256"]:
        raise DamagedFileError(path.with_name(content["tensors"]), "its checksum is wrong")
    return Checkpoint(content["step"], load(data), content["state"]["session"])


def flatten(nested: object) -> tuple[dict[str, Tensor], Any]:
    """Split nested dicts, lists, tuples, numbers, strings and None into named tensors and plain JSON.

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
    """The inverse of ``flatten``."""
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
    if mark == "$dict" and isinstance(content, list):
        return {key: unflatten(tensors, value) for key, value in content}  # type: ignore[misc,str-unpack,union-attr]
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
            raise TypeError(f"{path or 'the state'} has the key {key!r}: keys must be strings or integers")
        pairs.append((key, _encoded(part, _below(path, key), tensors)))

    if all(isinstance(key, str) and not key.startswith(MARK) for key, part in pairs):
        return {str(key): part for key, part in pairs}
    return {"$dict": [[_encoded_scalar(key, path), part] for key, part in pairs]}


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
