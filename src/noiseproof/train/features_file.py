"""Features of a run: stored as JSON and safetensors, read again to predict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import atomic
from ..dynamics.checks import REMEDY, read_tensors
from ..features import Features
from ..files import DamagedFileError, read_json

FACTS, ARRAYS = "features.json", "features.safetensors"


def save_features(folder: Path, features: Features) -> None:
    facts, arrays = features.state()
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    atomic.write_text(folder / FACTS, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    atomic.write_tensors(folder / ARRAYS, tensors, checked=True)


def load_features(folder: Path) -> Features | None:
    """The features of a run; None where its inputs were numbers."""
    if not (folder / FACTS).is_file():
        return None
    facts = read_json(folder / FACTS)
    arrays = {name: tensor.numpy() for name, tensor in read_tensors(folder / ARRAYS)[0].items()}
    try:
        return Features.from_state(facts, arrays)
    except (ValueError, TypeError, LookupError, AttributeError) as problem:
        raise DamagedFileError(
            folder / FACTS, str(problem) or type(problem).__name__, remedy=REMEDY
        ) from None


def describe(features: Features) -> dict[str, Any]:
    """What the manifest of a run says of them."""
    return {"kind": features.kind, "inputs": features.inputs, "left_out": features.left_out}
