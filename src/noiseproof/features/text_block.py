"""Text by TF-IDF: as a sparse matrix for linear models, and by its leading components for others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .components import Components

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

MOST_TERMS = 30_000
MANY_TEXTS = 200
"""From so many texts on a term must occur in two of them."""
FEW_WORDS = 3.0
LONG_WORD = 12.0
"""Texts with fewer words, or with longer ones, are split into parts of words: names, codes, languages
without spaces."""
WORDS: dict[str, Any] = {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"}
PARTS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (1, 4)}


class TextBlock:
    """Terms with their inverse document frequencies, and the leading components of the TF-IDF matrix.

    Shape:
        texts (n,); sparse (n, terms) float32; output (n, components) float32
    """

    def __init__(self, unit: str, terms: list[str], idf: NDArray[Any], components: Components) -> None:
        self.unit, self.terms, self.components = unit, terms, components
        self.vectorizer = _vectorizer(unit, vocabulary={term: at for at, term in enumerate(terms)})
        self.vectorizer.idf_ = np.asarray(idf, np.float32)

    @classmethod
    def fit(cls, texts: Sequence[str], dimensions: int, seed: int) -> TextBlock:
        unit = _unit(texts)
        common = 2 if len(texts) >= MANY_TEXTS else 1
        try:
            fitted = _vectorizer(unit, min_df=common, max_features=MOST_TERMS).fit(texts)
        except ValueError:  # no term occurs twice, or there are no words
            unit = "parts"
            fitted = _vectorizer(unit, max_features=MOST_TERMS).fit(texts)
        terms = [str(term) for term in fitted.get_feature_names_out()]
        block = cls(unit, terms, fitted.idf_, Components.none(len(terms)))
        block.components = Components.fit(block.sparse(texts), dimensions, seed)
        return block

    def sparse(self, texts: Sequence[str]) -> csr_matrix:
        """TF-IDF values; every row has norm 1, or 0 where no term is known."""
        return self.vectorizer.transform(texts).tocsr()

    def scaled(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.components.scaled(self.sparse(texts))

    def names(self, name: str) -> list[str]:
        """Names of the output columns."""
        kept = self.terms if self.components.axes is None else range(self.components.width)
        return [f"{name}: {part}" for part in kept]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"unit": self.unit, "terms": self.terms}, {
            "idf": np.asarray(self.vectorizer.idf_, np.float32),
            **self.components.arrays(),
        }

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TextBlock:
        components = Components.from_arrays(arrays)
        return cls(str(facts["unit"]), [str(term) for term in facts["terms"]], arrays["idf"], components)


def _vectorizer(unit: str, **options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    how = WORDS if unit == "words" else PARTS
    return TfidfVectorizer(**how, sublinear_tf=True, dtype=np.float32, strip_accents=None, **options)


def _unit(texts: Sequence[str]) -> str:
    """ "words", or "parts" of words.

    Example:
        >>> _unit(["the cat sat on the mat"]), _unit(["Oslo"]), _unit(["这部电影非常好看我很喜欢它"])
        ('words', 'parts', 'parts')
    """
    words = [re.findall(r"\w+", text) for text in texts[:2000]]
    count = sum(map(len, words))
    if count == 0 or count < FEW_WORDS * sum(bool(found) for found in words):
        return "parts"
    return "parts" if sum(len(word) for found in words for word in found) > LONG_WORD * count else "words"
