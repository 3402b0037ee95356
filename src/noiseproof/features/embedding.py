"""Sentence embeddings of texts by a local model; needs the extra ``text``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def embed(texts: Sequence[str], model: str) -> NDArray[np.float32]:
    """One vector per text (n, d) by the model in a local folder; nothing is downloaded."""
    found = _loaded(str(Path(model).expanduser()))
    vectors = found.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
    return np.nan_to_num(np.asarray(vectors, np.float32))


@lru_cache(maxsize=1)
def _loaded(folder: str) -> Any:
    if not Path(folder).is_dir():
        raise ValueError(
            f"embedding={folder!r} is not a folder: give the folder of a sentence-transformers model; nothing"
            " is downloaded"
        )
    try:
        from sentence_transformers import (  # type: ignore[import-not-found, import-untyped]
            SentenceTransformer,
        )
    except ImportError as problem:
        raise ImportError("embedding=... needs the extra text: pip install 'noiseproof[text]'") from problem
    return SentenceTransformer(folder, local_files_only=True)
