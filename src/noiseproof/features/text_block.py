"""Encode text by TF-IDF: as a sparse matrix for linear models, and by leading components for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .components import Components
from .embedding import embed

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

MAX_TERMS = 30_000
MAX_CHARACTERS = 5_000
"""Number of characters at the beginning of a text that are used."""
MANY_TEXTS = 200
"""Number of texts from which on a term must occur in at least two of them."""
NGRAMS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 5), "sublinear_tf": True}
"""Character n-grams, which also handle names, codes, misspellings and languages without spaces."""


class TextBlock:
    """TF-IDF of terms with the leading components of the matrix.

    With ``embedding``, the folder of a model, sentence embeddings replace the components.

    Shape:
        texts (n,); sparse (n, terms) float32; output (n, components) float32
    """

    def __init__(
        self, terms: list[str], idf: NDArray[Any], components: Components, embedding: str | None
    ) -> None:
        self.terms, self.components, self.embedding = terms, components, embedding
        self.vectorizer = _vectorizer(vocabulary={term: at for at, term in enumerate(terms)})
        self.vectorizer.idf_ = np.asarray(idf, np.float32)

    @classmethod
    def fit(cls, texts: Sequence[str], dimensions: int, seed: int, embedding: str | None = None) -> TextBlock:
        common = 2 if len(texts) >= MANY_TEXTS else 1
        try:
            fitted = _vectorizer(min_df=common, max_features=MAX_TERMS).fit(_beginnings(texts))
        except ValueError:  # no term occurs twice
            fitted = _vectorizer(max_features=MAX_TERMS).fit(_beginnings(texts))
        terms = [str(term) for term in fitted.get_feature_names_out()]
        block = cls(terms, fitted.idf_, Components.none(len(terms)), embedding)
        if embedding is None:
            block.components = Components.fit(block.sparse(texts), dimensions, seed)
        else:
            block.components = Components.centred(embed(texts, embedding))
        return block

    def sparse(self, texts: Sequence[str]) -> csr_matrix:
        """TF-IDF matrix; every row has norm 1, or 0 if it has no known term."""
        return self.vectorizer.transform(_beginnings(texts)).tocsr()

    def scaled(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.embedding is not None:
            return self.components.scaled_dense(embed(texts, self.embedding))
        return self.components.scaled(self.sparse(texts))

    def names(self, name: str) -> list[str]:
        """Names of the output columns."""
        whole = self.components.axes is None and self.embedding is None
        kept = self.terms if whole else range(self.components.width)
        return [f"{name}: {part}" for part in kept]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"terms": self.terms, "embedding": self.embedding}, {
            "idf": np.asarray(self.vectorizer.idf_, np.float32),
            **self.components.arrays(),
        }

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TextBlock:
        components = Components.from_arrays(arrays)
        terms = [str(term) for term in facts["terms"]]
        return cls(terms, arrays["idf"], components, facts.get("embedding"))


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**NGRAMS, dtype=np.float32, **options)


def _beginnings(texts: Sequence[str]) -> list[str]:
    return [text[:MAX_CHARACTERS] for text in texts]
