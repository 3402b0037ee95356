"""Store a fitted classifier in one file, without pickle: JSON, safetensors, and models stored by skops."""

from __future__ import annotations

import datetime
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .. import atomic
from ..files import DamagedFileError, parse_json, read_bytes

FORMAT, VERSION, FACTS = "noiseproof classifier", 1, "classifier.json"
MAX_BYTES = 1 << 32
"""Largest file that is read, in bytes."""

TRUSTED = (
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
"""Types that skops does not check: optimizers, which prediction does not use, and trees, see check_trees."""


class Parts:
    """The content of a file: facts as JSON, arrays and models by name.

    Reading checks all parts; any problem is raised as a DamagedFileError of one line.
    """

    def __init__(self, facts: dict[str, Any], parts: Mapping[str, bytes], path: Path | None = None) -> None:
        self.facts, self.parts, self.path = facts, dict(parts), path

    def put_arrays(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        self.parts[name] = save({key: np.ascontiguousarray(array) for key, array in arrays.items()})

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        return dict(load(self.parts[name]))

    def put_models(self, name: str, models: Any) -> None:
        self.parts[name] = to_bytes(models)

    def models(self, name: str) -> Any:
        return from_bytes(self.parts[name])

    def write(self, path: str | Path) -> None:
        """Write the file atomically."""
        facts = {"format": FORMAT, "version": VERSION, **self.facts}
        text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as file:
            for name, part in {FACTS: text.encode(), **self.parts}.items():
                file.writestr(name, part)
        atomic.write_bytes(path, content.getvalue())

    @classmethod
    def read(cls, path: str | Path) -> Parts:
        content = read_bytes(path, MAX_BYTES)
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as file:
                _check_not_compressed(file)
                parts = {name: file.read(name) for name in file.namelist()}
            facts = parse_json(parts.pop(FACTS))
        except Exception as problem:  # of a file that is not an archive, or a damaged one
            what = "not a saved NoiseproofClassifier" if isinstance(problem, KeyError) else problem
            raise DamagedFileError(path, f"{what}; give a file that save() wrote") from None
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise DamagedFileError(path, "not a saved NoiseproofClassifier; give a file that save() wrote")
        if facts.get("version") != VERSION:
            raise DamagedFileError(
                path, f"it has version {facts.get('version')!r}, but only version {VERSION} can be read"
            )
        return cls(facts, parts, Path(path))

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        """Raise any error while the parts are assembled as DamagedFileError."""
        foreign = (ValueError, TypeError, LookupError, AttributeError, RuntimeError, SafetensorError)
        if isinstance(problem, foreign) and not isinstance(problem, DamagedFileError):
            reason = " ".join(str(problem).split()) or type(problem).__name__
            raise DamagedFileError(self.path or "", reason) from None


def class_to_json(name: Any) -> Any:
    """A class as JSON; a date as a dict of its type and the text."""
    import pandas as pd  # type: ignore[import-untyped]

    if isinstance(name, (str, int, float, bool)):
        return name
    if isinstance(name, datetime.date) and type(name) in (pd.Timestamp, datetime.datetime, datetime.date):
        return {type(name).__name__: name.isoformat()}
    raise ValueError(
        f"class {name!r} has the type {type(name).__name__}: only text, numbers and dates can be saved"
    )


def class_from_json(stored: Any) -> Any:
    """The class that ``class_to_json`` converted."""
    import pandas as pd  # type: ignore[import-untyped]

    if not isinstance(stored, dict):
        return stored
    ((kind, text),) = stored.items()
    parse = {
        "Timestamp": pd.Timestamp,
        "datetime": datetime.datetime.fromisoformat,
        "date": datetime.date.fromisoformat,
    }
    return parse[kind](text)


def _check_not_compressed(file: zipfile.ZipFile) -> None:
    """ValueError if a part is compressed; uncompressed parts cannot be larger than the file."""
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in file.infolist()):
        raise ValueError("its parts are compressed")


def to_bytes(models: Any) -> bytes:
    """Serialise models, also in lists and dicts; ValueError for a model that only pickle could store."""
    import skops.io

    try:
        content: bytes = skops.io.dumps(models)
        others = sorted(set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED))
    except Exception as problem:  # of types skops does not know
        raise ValueError(f"the model cannot be stored without pickle: {problem}") from None
    if others:
        raise ValueError(
            f"the model cannot be stored without pickle: it holds {', '.join(others[:3])}, which skops"
            " does not check"
        )
    check_trees(models)
    return content


def from_bytes(content: bytes) -> Any:
    """Load models; ValueError for content that ``to_bytes`` did not write."""
    import skops.io

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            _check_not_compressed(file)
        models = skops.io.loads(content, trusted=list(TRUSTED))
    except Exception as problem:  # a damaged or hostile file can raise anything
        raise ValueError(" ".join(str(problem).split())[:200] or type(problem).__name__) from None
    check_trees(models)
    return models


def check_trees(models: Any) -> None:
    """ValueError if a node of a tree refers to itself, a node before it, or a missing node or feature.

    scikit-learn does not check these numbers when it predicts.
    """
    for tree, features in _trees(models, None, set()):
        left, right, column, leaf = _arrays(tree)
        here, count = np.flatnonzero(~leaf), len(left)
        down = all(((side[here] > here) & (side[here] < count)).all() for side in (left, right))
        inside = features is not None and bool(((column[here] >= 0) & (column[here] < features)).all())
        if count == 0 or not (down and inside):
            raise ValueError("a tree refers to nodes or features that do not exist")


def _trees(found: Any, features: int | None, seen: set[int]) -> Iterator[tuple[Any, int | None]]:
    """Every tree inside ``found``, with the number of features of the model that holds it."""
    if id(found) in seen or isinstance(found, (str, bytes, int, float, type(None))):
        return
    seen.add(id(found))
    if type(found).__name__ in ("Tree", "TreePredictor"):
        yield found, features
        return
    parts: Any = ()
    if isinstance(found, dict):
        parts = found.values()
    elif isinstance(found, (list, tuple)) or (isinstance(found, np.ndarray) and found.dtype == object):
        parts = list(found)
    elif hasattr(found, "__dict__"):
        features = getattr(found, "n_features_in_", features)
        parts = vars(found).values()
    for part in list(parts):
        yield from _trees(part, features, seen)


def _arrays(tree: Any) -> tuple[np.ndarray, ...]:
    """Left and right children, columns, and which nodes are leaves."""
    if type(tree).__name__ == "Tree":
        return tree.children_left, tree.children_right, tree.feature, tree.children_left == -1
    nodes = tree.nodes
    if nodes["is_categorical"].any():
        raise ValueError("boosted trees with categorical_features cannot be stored: encode the categories")
    left, right, column = (nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
    return left, right, column, nodes["is_leaf"].astype(bool)
