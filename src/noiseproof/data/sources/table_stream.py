"""A table that is larger than memory: its features in a memory-mapped file made once."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...features import Features
from ...features.store import load_features, save_features
from ..growing_npy import GrowingNpy
from ..stream_cache import StreamCache
from .table_file import CSV, separator_of, table_columns, table_pieces

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

FORM = "table 2"
"""Changes when the files in the cache mean something else."""
INPUTS = "inputs.npy"
CELLS = 1 << 20
"""Features of a streamed table are fitted on rows of so many values, spread over the table."""


def fitted_features(place: Path, names: list[str], root: Path, *, drop_ids: bool) -> Features:
    """Features of these columns, from the cache under ``root`` or fitted on a sample of the rows."""
    cache = StreamCache(root, place, [FORM, names, drop_ids])
    try:
        known = load_features(cache.folder)
    except ValueError:  # damaged: fitted again
        known = None
    if known is not None:
        return known
    cache.discard()
    features = Features(drop_ids=drop_ids).fit(_sample(place, names))
    with cache.writing() as new:
        save_features(new, features)
        cache.keep(new)
    return features


def _sample(place: Path, names: list[str]) -> pd.DataFrame:
    """All rows of a small table, and of a large one every second, fourth, ... row."""
    import pandas as pd  # type: ignore[import-untyped]

    most, step, seen = max(1, CELLS // len(names)), 1, 0
    from_text = separator_of(place) is not None
    kept: list[pd.DataFrame] = []
    for piece in table_pieces(place, len(names), names if from_text else (), names):
        kept.append(piece[names].iloc[-seen % step :: step])
        seen += len(piece)
        while sum(map(len, kept)) > most:
            step *= 2
            kept = [pd.concat(kept, ignore_index=True)[::2]]
    if not kept:
        raise ValueError(f"{place} has no rows")
    rows = pd.concat(kept, ignore_index=True)
    return pd.read_csv(io.StringIO(rows.to_csv(index=False)), **CSV) if from_text else rows


def streamed_features(place: Path, features: Features, root: Path) -> NDArray[np.float32]:
    """The rows of a table as Features give them, from the cache under ``root`` or by one pass over it."""
    cache = StreamCache(root, place, [FORM, _digest(features)])
    mapped = cache.map(INPUTS)
    if mapped is None:
        with cache.writing() as new:
            with (new / INPUTS).open("xb") as file:
                rows = GrowingNpy(file, (len(features.names),), np.float32)
                for piece in table_pieces(place, len(table_columns(place)), features.text_inputs):
                    rows.write(features.transform(piece))
                rows.finish()
            cache.keep(new)
        mapped = cache.map(INPUTS)
    if mapped is None:
        raise ValueError(f"the streamed form of {place} cannot be mapped")
    return mapped


def _digest(features: Features) -> str:
    facts, arrays = features.state()
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + arrays[name].tobytes())
    return digest.hexdigest()
