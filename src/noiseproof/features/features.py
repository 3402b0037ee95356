"""``Features``: encode tables, texts and arrays as a matrix of numbers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..grammar import listed
from .array_encoder import ArrayEncoder
from .recognise import recognise
from .sparse_block import SparseBlock
from .table_encoder import CONSTANT, EMPTY, TableEncoder, unread_example

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

Encoder: TypeAlias = TableEncoder | ArrayEncoder | SparseBlock
VERSION = 1
TEXT = "text"
"""Name of the column if X is a list of strings."""


class Features:
    """Encode a DataFrame, an array, a sparse matrix, a dict of columns or a list of strings as numbers.

    ``fit`` infers the role of each column from the training rows: numbers (also with a decimal comma or
    thousands separators), truth values, dates, categories, free text. ``transform`` returns a finite float32
    matrix for networks and linear models: numbers are standardised, categories are one-hot encoded, text is
    encoded by the leading components of its TF-IDF matrix. Missing values are imputed and marked; unknown
    categories are all zeros.

    Columns that identify rows are left out with a warning (unless ``drop_ids=False``), constant and empty
    columns without one; ``left_out`` has the reasons.

    Args:
        dimensions: largest number of components of text and of sparse matrices.
        drop_ids: leave out columns that identify rows.
        embedding: folder of a local sentence-transformers model, whose vectors replace the components of
            text (needs the extra ``text``).
        random_state: seed of the decomposition.
    Example:
        >>> table = {"size": ["1,5", "2,5", "4"], "city": ["Oslo", "Rome", "Oslo"]}
        >>> features = Features()
        >>> features.fit_transform(table).shape, features.names
        ((3, 3), ['size', 'city=Oslo', 'city=Rome'])
        >>> features.transform({"city": ["Paris"], "size": [None]}).tolist()
        [[0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        *,
        dimensions: int = 100,
        drop_ids: bool = True,
        embedding: str | None = None,
        random_state: int | None = 0,
    ) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions={dimensions} must be at least 1")
        self.dimensions, self.drop_ids, self.random_state = dimensions, drop_ids, random_state
        self.embedding = embedding
        self.inputs: list[str] = []
        """Names of the columns passed to ``fit``."""
        self._encoder: Encoder | None = None

    def fit(self, X: Any) -> Features:
        """Learn roles, scales, categories and terms from the training rows."""
        form, values = recognise(X)
        if _rows(values) == 0:
            raise ValueError("X has no rows")
        if form == "text" and not any(text and text.strip() for text in values):
            raise ValueError("all texts of X are empty: at least one must have characters")
        seed = 0 if self.random_state is None else self.random_state
        if form == "sparse":
            self._encoder = SparseBlock.fit(values, self.dimensions, seed)
            self.inputs = []
        elif form == "array":
            self._encoder = ArrayEncoder.fit(values, drop_ids=self.drop_ids)
            self.inputs = [] if values.ndim > 2 else [f"x{at}" for at in range(values.shape[1])]
        else:
            frame = _frame(values) if form == "text" else values
            self._encoder = TableEncoder.fit(
                frame,
                dimensions=self.dimensions,
                seed=seed,
                drop_ids=self.drop_ids,
                text=form == "text",
                embedding=self.embedding,
            )
            self.inputs = list(frame.columns)
        self._warn_of_ids()
        return self

    def fit_transform(self, X: Any) -> NDArray[np.float32]:
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The matrix (n, d): float32, C-contiguous, finite, with the columns ``names``."""
        encoder = self._fitted()
        return _float32(encoder.scaled(self._checked(X, encoder)))

    def numeric(self, X: Any) -> NDArray[np.float32]:
        """The matrix for trees, with the same columns: numbers are not standardised, NaN if missing."""
        encoder = self._fitted()
        values = self._checked(X, encoder)
        return _float32(
            encoder.scaled(values) if isinstance(encoder, SparseBlock) else encoder.unscaled(values)
        )

    def sparse(self, X: Any) -> csr_matrix | None:
        """TF-IDF matrix (n, terms) of text and of sparse counts, for linear models; None for other kinds."""
        encoder = self._fitted()
        return None if self.kind not in ("text", "sparse") else encoder.sparse(self._checked(X, encoder))

    def warn_of_unreadable(self, X: Any) -> None:
        """Warn of values that are read as missing: columns of another kind than in training, and infinity."""
        encoder = self._fitted()
        checked = self._checked(X, encoder)
        found = encoder.unreadable(checked) if isinstance(encoder, TableEncoder) else _not_numbers(X)
        if found:
            warnings.warn(f"values read as missing: columns {listed(found)}", UserWarning, stacklevel=3)
        _warn_of_infinite(checked)

    @property
    def kind(self) -> str:
        """The kind of X: "numbers", "table", "text", "sparse" or "images"."""
        encoder = self._fitted()
        return "sparse" if isinstance(encoder, SparseBlock) else encoder.kind

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one image, or of one row of an array; () for other kinds."""
        encoder = self._fitted()
        return encoder.shape if isinstance(encoder, ArrayEncoder) else ()

    @property
    def names(self) -> list[str]:
        """Names of the columns of ``transform``."""
        encoder = self._fitted()
        if isinstance(encoder, SparseBlock):
            return [f"component {at}" for at in range(encoder.components.width)]
        return encoder.names

    @property
    def text_inputs(self) -> list[str]:
        """Columns whose cells are treated as text, even if they look like numbers."""
        encoder = self._fitted()
        columns = encoder.columns if isinstance(encoder, TableEncoder) else []
        return [column.name for column in columns if column.role in ("text", "category")]

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that are not used, with the reason."""
        encoder = self._fitted()
        return {} if isinstance(encoder, SparseBlock) else dict(encoder.left_out)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted state, as JSON and as arrays."""
        encoder = self._fitted()
        facts, arrays = ({}, encoder.arrays()) if isinstance(encoder, SparseBlock) else encoder.state()
        return {
            "version": VERSION,
            "encoder": type(encoder).__name__,
            "dimensions": self.dimensions,
            "drop_ids": self.drop_ids,
            "embedding": self.embedding,
            "random_state": self.random_state,
            "inputs": self.inputs,
            "fitted": facts,
        }, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Features:
        """Restore the state of ``state``; ``transform`` is exactly the same."""
        if facts.get("version") != VERSION:
            version = facts.get("version")
            raise ValueError(f"features have version {version!r}, but only {VERSION} can be read")
        settings = {name: facts[name] for name in ("dimensions", "drop_ids", "embedding", "random_state")}
        new = cls(**settings)
        new.inputs = [str(name) for name in facts["inputs"]]
        match facts["encoder"]:
            case "SparseBlock":
                new._encoder = SparseBlock.from_arrays(arrays)
            case "ArrayEncoder":
                new._encoder = ArrayEncoder.from_state(facts["fitted"], arrays)
            case "TableEncoder":
                new._encoder = TableEncoder.from_state(facts["fitted"], arrays)
            case other:
                raise ValueError(f"features have the unknown encoder {other!r}")
        return new

    def _fitted(self) -> Encoder:
        if self._encoder is None:
            raise ValueError("these Features are not fitted: call fit or fit_transform first")
        return self._encoder

    def _checked(self, X: Any, encoder: Encoder) -> Any:
        """X converted to the input of the encoder, with the columns it needs."""
        form, values = recognise(X, text=isinstance(encoder, TableEncoder) and encoder.kind == "text")
        if isinstance(encoder, SparseBlock):
            return _check_width(_as_sparse(form, values), encoder)
        if form == "sparse":
            form, values = "array", values.toarray()
        if isinstance(encoder, ArrayEncoder):
            array = values if form == "array" else _dense(values)
            if array.shape[1:] != encoder.shape:
                raise ValueError(f"rows of X have shape {array.shape[1:]}, but {encoder.shape} in training")
            return array
        return self._frame_like_fitted(form, values, encoder)

    def _frame_like_fitted(self, form: str, values: Any, encoder: TableEncoder) -> Any:
        import pandas as pd  # type: ignore[import-untyped]

        if form == "text":
            if len(encoder.columns) > 1 and len(self.inputs) > 1:
                raise ValueError(f"X is a list of texts, but was a table of {self.inputs} in training")
            return _frame(values).set_axis(self.inputs, axis=1)
        frame = pd.DataFrame(values) if form == "array" else values
        unnamed = form == "array" or list(frame.columns) == [str(at) for at in range(len(frame.columns))]
        if unnamed and len(frame.columns) == len(self.inputs):
            return frame.set_axis(self.inputs, axis=1)
        missing = [column.name for column in encoder.columns if column.name not in frame.columns]
        if missing:
            which = ", ".join(map(repr, missing[:5])) + (" ..." if len(missing) > 5 else "")
            have = ", ".join(map(str, list(frame.columns)[:10]))
            raise ValueError(f"X has no column {which}, which was used in training; its columns are: {have}")
        return frame

    def _warn_of_ids(self) -> None:
        ids = {name: why for name, why in self.left_out.items() if why not in (CONSTANT, EMPTY)}
        if ids:
            words = listed([f"{name!r} ({why})" for name, why in ids.items()], "; ")
            warnings.warn(
                f"not used as features: {words}; to use them, pass drop_ids=False, or features=... for a csv",
                UserWarning,
                stacklevel=3,
            )


def _rows(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def _frame(texts: list[str | None]) -> Any:
    import pandas as pd  # type: ignore[import-untyped]

    return pd.DataFrame({TEXT: pd.Series(texts, dtype=object)})


def _dense(values: Any) -> NDArray[Any]:
    import pandas as pd  # type: ignore[import-untyped]

    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, pd.DataFrame):
        raise ValueError("X is a list of texts, but was an array of numbers in training")
    numbers: NDArray[Any] = values.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    return numbers


def _not_numbers(X: Any) -> list[str]:
    """Columns of a table most of whose values are not numbers, with an example each."""
    form, values = recognise(X)
    found = []
    for name in values.columns if form == "frame" else ():
        if (example := unread_example(values[name], _dense(values[[name]])[:, 0])) is not None:
            found.append(f"{name!r} (a number in training, now {example!r:.40})")
    return found


def _warn_of_infinite(values: Any) -> None:
    import pandas as pd  # type: ignore[import-untyped]

    where = ""
    if isinstance(values, pd.DataFrame):
        floats = [name for name in values if pd.api.types.is_float_dtype(values[name].dtype)]
        numbers = values[floats].to_numpy(np.float64, na_value=np.nan)
        names = [repr(floats[at]) for at in np.flatnonzero(np.isinf(numbers).any(0))]
        where, found = f": columns {listed(names)}", bool(names)
    else:
        found = not isinstance(values, list) and bool(np.isinf(values.data).any())
    if found:
        warnings.warn(f"infinite values of X are read as missing{where}", UserWarning, stacklevel=4)


def _as_sparse(form: str, values: Any) -> csr_matrix:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    return csr_matrix(values if form == "sparse" else _dense(values))


def _check_width(matrix: csr_matrix, encoder: SparseBlock) -> csr_matrix:
    axes = encoder.components.axes
    width = encoder.components.width if axes is None else axes.shape[1]
    if matrix.shape[1] != width:
        raise ValueError(f"X has {matrix.shape[1]} columns, but had {width} in training")
    return matrix


def _float32(matrix: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(matrix, np.float32)
