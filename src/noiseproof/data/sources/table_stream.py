"""A table that is larger than memory: its features in a memory-mapped file made once."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...features import Features
from ...features.store import load_features, save_features
from ..mapped_files import StreamCache
from .table_file import CSV, separator_of, table_columns, table_pieces

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

FORM = "table 2"
"""Changes when the files in the cache mean something else."""
INPUTS = "inputs.npy"
CELLS = 1 << 18
"""Features of a streamed table are fitted on rows of so many values, spread over the table."""
FEWEST_ROWS = 1000
"""But on so many rows at least."""


def fitted_features(place: Path, names: list[str], root: Path, settings: dict[str, Any]) -> Features:
    """Features of these columns, from the cache under ``root`` or fitted on a sample of the rows."""
    cache = StreamCache(root, place, [FORM, names, settings])
    try:
        known = load_features(cache.folder)
    except ValueError:  # damaged: fitted again
        known = None
    if known is not None:
        return known
    cache.discard()
    features = Features(**settings).fit(read_in_pieces(place, names, max(FEWEST_ROWS, CELLS // len(names))))
    with cache.writing() as new:
        save_features(new, features)
        cache.keep(new)
    return features


def read_in_pieces(place: Path, names: list[str], most: int | None = None) -> pd.DataFrame:
    """These columns as if the table were read whole: all rows, or of a table with more than ``most`` every
    second, fourth, ... row."""
    import pandas as pd  # type: ignore[import-untyped]

    step, seen, width = 1, 0, len(table_columns(place))
    from_text = separator_of(place) is not None
    kept: list[pd.DataFrame] = []
    for piece in table_pieces(place, width, names if from_text else (), names):
        kept.append(piece[names].iloc[-seen % step :: step].copy())
        seen += len(piece)
        while most is not None and sum(map(len, kept)) > most:
            step *= 2
            kept = [pd.concat(kept, ignore_index=True)[::2].copy()]
    if seen == 0:
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


class GrowingNpy:
    """Appends blocks of rows; ``finish`` writes their number into the header, until then the file has none.

    Example:
        >>> file = io.BytesIO()
        >>> rows = GrowingNpy(file, row_shape=(2,), dtype=np.float32)
        >>> rows.write(np.zeros((3, 2)))
        >>> rows.finish()
        >>> _ = file.seek(0)
        >>> np.load(file).shape
        (3, 2)
    """

    def __init__(self, file: IO[bytes], row_shape: tuple[int, ...], dtype: Any) -> None:
        self.file, self.row_shape, self.dtype = file, row_shape, np.dtype(dtype)
        self.rows = 0
        self.start = len(self._header())
        file.write(b"\0" * self.start)

    def write(self, block: NDArray[Any]) -> None:
        if block.shape[1:] != self.row_shape:
            raise ValueError(f"rows of shape {block.shape[1:]} after rows of shape {self.row_shape}")
        self.file.write(np.ascontiguousarray(block, self.dtype).tobytes())
        self.rows += len(block)

    def finish(self) -> None:
        header = self._header()
        if len(header) != self.start:  # numpy leaves room for 21 digits
            raise ValueError(f"the header of {self.rows} rows does not fit")
        self.file.seek(0)
        self.file.write(header)

    def _header(self) -> bytes:
        text = io.BytesIO()
        shape = (self.rows, *self.row_shape)
        facts = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(text, facts)  # type: ignore[no-untyped-call]
        return text.getvalue()
