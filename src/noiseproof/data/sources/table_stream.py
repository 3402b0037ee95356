"""A table that is larger than memory: its features in a memory-mapped file made once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...features import Features
from ..growing_npy import GrowingNpy
from ..stream_cache import StreamCache
from .table_file import table_columns, table_pieces

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

FORM = "table 2"
"""Changes when the files in the cache mean something else."""
INPUTS = "inputs.npy"
ROWS = 50_000
"""Features of a streamed table are fitted on so many of its first rows."""


def first_rows(place: Path, most: int = ROWS) -> pd.DataFrame:
    """Rows at the beginning of a table."""
    import pandas as pd  # type: ignore[import-untyped]

    pieces: list[pd.DataFrame] = []
    for piece in table_pieces(place, len(table_columns(place))):
        pieces.append(piece)
        if sum(map(len, pieces)) >= most:
            break
    if not pieces:
        raise ValueError(f"{place} has no rows")
    return pd.concat(pieces, ignore_index=True)[:most]


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
