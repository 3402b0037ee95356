"""The mark of a checkpoint: a JSON file that proves itself and the tensor file it names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch

from .. import __version__, files
from ..files import MOST_JSON
from .nested import JSON

FORMAT = 1


class DamagedError(Exception):
    """A checkpoint that cannot be used; the message says which file and why."""


def mark_text(step: int, tensor_file: str, data: bytes, state: Mapping[str, JSON]) -> str:
    """What is written; floats come back bit by bit."""
    content: dict[str, JSON] = {
        "format": FORMAT,
        "noiseproof": __version__,
        "torch": torch.__version__,
        "step": step,
        "tensors": tensor_file,
        "sha256": hashlib.sha256(data).hexdigest(),
        "state": dict(state),
    }
    return json.dumps({**content, "checksum": checksum(content)}, allow_nan=False) + "\n"


def checksum(content: Mapping[str, JSON]) -> str:
    """Of all entries but itself. Later formats keep this: else they could not be told from damage."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_json(value: object, path: str = "state") -> None:
    """ValueError unless JSON gives exactly this value back.

    Example:
        >>> check_json({"lr": [0.1, float("nan")]})
        Traceback (most recent call last):
        ValueError: state['lr'][1] is nan, which JSON does not have: use flatten
    """
    if type(value) is dict:
        for key, part in value.items():
            if type(key) is not str:
                raise ValueError(f"{path} has the key {key!r}, JSON keys are strings: use flatten")
            check_json(part, f"{path}[{key!r}]")
    elif type(value) is list:
        for place, part in enumerate(value):
            check_json(part, f"{path}[{place}]")
    elif not (value is None or type(value) in (bool, int, float, str)):
        raise ValueError(f"{path} is a {type(value).__name__}, which JSON does not have: use flatten")
    elif type(value) is float and not abs(value) < float("inf"):
        raise ValueError(f"{path} is {value!r}, which JSON does not have: use flatten")


def read_mark(path: Path) -> dict[str, JSON]:
    """The entries of a mark; DamagedError unless it is whole, ValueError if a later version wrote it."""
    data = read_bytes(path, MOST_JSON)
    try:
        content = json.loads(data.decode("utf-8"))
        found = content.pop("checksum")
        whole = found == checksum(content)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as problem:
        raise DamagedError(f"{path} is damaged: {problem!r:.200}") from None
    if not whole:
        raise DamagedError(f"{path} is damaged: its checksum is wrong")
    version = content.get("format")
    if type(version) is int and version > FORMAT:
        raise ValueError(
            f"{path} has format {version}, this version of noiseproof reads format {FORMAT}:"
            f" use noiseproof {content.get('noiseproof')} or later, or another folder"
        )
    if version != FORMAT:
        raise DamagedError(f"{path} has the unknown format {version!r}")
    return content  # type: ignore[no-any-return]


def read_bytes(path: Path, most: int) -> bytes:
    """DamagedError unless it is a regular file of that size at most; a lack of permission is no damage."""
    try:
        return files.read_bytes(path, most)
    except PermissionError:
        raise
    except files.DamagedFileError as problem:
        raise DamagedError(str(problem)) from None
    except OSError as problem:
        raise DamagedError(f"cannot read {path}: {problem.strerror}") from None
