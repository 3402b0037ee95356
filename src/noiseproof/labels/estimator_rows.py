"""Estimators of the user that encode texts or columns themselves, and the rows that they get."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..features.recognise import recognise

HINT = (
    "to encode columns or texts itself, it must be a Pipeline that begins with a ColumnTransformer, a"
    " TableVectorizer or a text vectoriser such as TfidfVectorizer()"
)


def reads_rows(model: object) -> bool:
    """Whether an estimator gets the rows as they were given instead of encoded numbers.

    Chosen:
        a Pipeline that begins with a ColumnTransformer, a text vectoriser of scikit-learn or a
        TableVectorizer of skrub, or with a FeatureUnion of such steps; also inside a search such as
        GridSearchCV.
    Example:
        >>> from sklearn.feature_extraction.text import TfidfVectorizer
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> linear = LogisticRegression()
        >>> reads_rows(make_pipeline(TfidfVectorizer(), linear)), reads_rows(linear)
        (True, False)
    """
    first = _first_step(model)
    return first is not None and _encodes(first)


def _first_step(model: Any) -> Any:
    from sklearn.pipeline import Pipeline

    while not isinstance(model, (Pipeline, type(None))):
        model = getattr(model, "estimator", None)
    return model.steps[0][1] if model is not None and model.steps else None


def _encodes(step: Any) -> bool:
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
    from sklearn.pipeline import FeatureUnion, Pipeline

    if isinstance(step, Pipeline):
        return bool(step.steps) and _encodes(step.steps[0][1])
    if isinstance(step, FeatureUnion):
        return any(_encodes(part) for _, part in step.transformer_list)
    named = {base.__name__ for base in type(step).__mro__}
    return isinstance(step, (ColumnTransformer, CountVectorizer, HashingVectorizer)) or (
        "TableVectorizer" in named
    )


def _innermost(step: Any) -> Any:
    """The first step of nested pipelines, the first part of unions."""
    while hasattr(step, "steps") or hasattr(step, "transformer_list"):
        step = (step.steps if hasattr(step, "steps") else step.transformer_list)[0][1]
    return step


def given_rows(rows: Any, model: object, *, text: bool = False) -> Any:
    """The rows for an estimator with ``reads_rows``: an array, a sparse matrix, a DataFrame or texts.

    Missing values alone are texts if ``text``.

    Missing texts are "". A text vectoriser reads the column of a table of one column.
    """
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    form, values = recognise(rows, text=text)
    first = _innermost(_first_step(model))
    if form == "text":
        return np.array([text or "" for text in values], object)
    if isinstance(first, (CountVectorizer, HashingVectorizer)):
        if form != "frame" or values.shape[1] > 1:
            raise ValueError(
                f"{type(first).__name__} reads texts, but the rows have shape {values.shape}: choose the"
                " column of texts with a ColumnTransformer"
            )
        return values.iloc[:, 0].astype(object).fillna("").astype(str).to_numpy(object)
    return rows if isinstance(rows, np.ndarray) or hasattr(rows, "iloc") else values
