"""Labels of any type."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import LabelEncoder

from noiseproof.features import as_labels
from noiseproof.features.labels import refuse_labels


@given(
    st.one_of(
        st.lists(st.text(), min_size=1),
        st.lists(st.integers(-(2**62), 2**62), min_size=1),
        st.lists(st.booleans(), min_size=1),
        st.lists(st.integers(-9, 9).map(float), min_size=1),
    )
)
def test_classes_match_scikit_learn(labels):
    codes, classes = as_labels(labels)
    encoder = LabelEncoder().fit(np.array(labels, object if isinstance(labels[0], str) else None))
    assert classes == encoder.classes_.tolist()
    assert [classes[code] for code in codes] == labels
    assert codes.dtype == np.int64


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Categorical(["b", "a"], categories=["c", "b", "a"]), ["a", "b"]),
        (pd.Series(["b", "a"], dtype="string"), ["a", "b"]),
        (torch.tensor([3, 1]), [1, 3]),
        (torch.tensor([3, 1], dtype=torch.bfloat16), [1.0, 3.0]),
        ([2**63 + 1, 2**63], [2**63, 2**63 + 1]),
        (np.ma.array([3, 1]), [1, 3]),
        (np.array([["b"], ["a"]]), ["a", "b"]),
        (pd.DataFrame({"y": ["b", "a"]}), ["a", "b"]),
        ([1, "1"], [1, "1"]),
        (pd.Series([1.0, 3.0]), [1.0, 3.0]),
        (pd.array([3, 1], "Int64"), [1, 3]),
        (pyarrow.array(["b", "a"]), ["a", "b"]),
    ],
)
def test_column_types(labels, classes):
    codes, found = as_labels(labels)
    assert found == classes
    assert sorted(codes.tolist()) == list(range(len(classes)))


def test_several_labels_of_a_row_are_refused():
    with pytest.raises(ValueError, match=r"y has rows of different lengths: .* see labels\.find_multilabel"):
        as_labels([["cat"], ["cat", "dog"]])


def test_column_that_contains_the_labels_is_refused():
    table = pd.DataFrame({"a": [1, 2, 1, 3], "kind": list("xyxy"), "code": [0, 5, 0, 5], "cells": [[1]] * 4})
    with pytest.raises(ValueError, match="the column 'kind' of X contains the labels: leave it out"):
        refuse_labels(table, *as_labels(table["kind"]))
    with pytest.warns(UserWarning, match="the column 'code' of X determines all labels"):
        refuse_labels(table[["a", "code", "cells"]], *as_labels(table["kind"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_labels(table[["a", "cells"]], *as_labels(table["kind"]))
        others = [table["a"], table["a"].to_numpy()[:, None], SimpleNamespace(columns=["kind"])]
        for other in others:  # a Series, an array, a table of another library
            refuse_labels(other, *as_labels(table["kind"]))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.ma.array([0, 1], mask=[0, 1]), r"y\[1\] is missing"),
        (np.ma.array(["a", "b"], mask=[0, 1]), r"y\[1\] is missing"),
        (pd.Series([("a", 1), ("b", 2)]), r"y\[0\] is \('a', 1\): expected one label per row"),
        ([1.0, float("inf")], r"y\[1\] = inf is infinite"),
        (np.array(["a", 0.5], object), r"y\[1\] = 0.5 has a fraction"),
        ([0, True, 1], r"y\[1\] is True and y\[0\] is 0: labels must be either truth values or numbers"),
        (np.array([True, 1], object), r"y\[0\] is True and y\[1\] is 1"),
        (["a", None], r"y\[1\] is missing \(None\): every row needs a label"),
        ([1.0, float("nan")], r"y\[1\] is missing \(nan\)"),
        (["a", None, None], r"y\[1\] is missing .*; leave out the 2 rows without one"),
        ([1.0, 0.5], r"y\[1\] = 0\.5 has a fraction"),
        ([[0, 1], [1, 0]], r"shape \(2, 2\).*argmax"),
        ([], "y is empty"),
        (pd.DataFrame({"y": ["b"], "z": ["a"]}), r"y has 2 columns \(y, z\): pass only the column of labels"),
    ],
)
def test_invalid_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        as_labels(labels)
    with pytest.raises(TypeError, match="expected one label per row"):
        as_labels("cat")
