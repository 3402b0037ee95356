"""Save and load features as JSON and safetensors, without pickle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .. import atomic
from ..files import DamagedFileError, read_bytes, read_json
from .features import Features

FACTS, ARRAYS = "features.json", "features.safetensors"
MAX_BYTES = 1 << 30
"""Largest file that is read, in bytes."""


def save_features(folder: Path, features: Features) -> None:
    """Write both files atomically, the JSON file last."""
    facts, arrays = features.state()
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    atomic.write_bytes(folder / ARRAYS, save(contiguous))
    atomic.write_text(folder / FACTS, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def load_features(folder: Path) -> Features | None:
    """The features stored in a folder, or None."""
    if not (folder / FACTS).is_file():
        return None
    facts = read_json(folder / FACTS, MAX_BYTES)
    try:
        arrays = load(read_bytes(folder / ARRAYS, MAX_BYTES))
    except (SafetensorError, ValueError, OSError) as problem:
        raise DamagedFileError(folder / ARRAYS, str(problem)) from None
    try:
        return Features.from_state(facts, arrays)
    except (ValueError, TypeError, LookupError, AttributeError) as problem:
        raise DamagedFileError(folder / FACTS, str(problem) or type(problem).__name__) from None
