"""Folds: each row is predicted once, classes are stratified, groups and equal rows share a fold."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from noiseproof.labels.folds import split


def fold_of(splits, count):
    found = np.full(count, -1)
    for number, (fitted, predicted) in enumerate(splits):
        assert not set(fitted) & set(predicted)
        assert len(fitted) + len(predicted) == count
        assert (found[predicted] == -1).all()
        found[predicted] = number
    assert (found >= 0).all()
    return found


@settings(deadline=None, max_examples=50)
@given(st.integers(6, 60), st.integers(2, 6), st.integers(0, 1000))
def test_each_row_is_predicted_once_and_groups_share_a_fold(count, folds, seed):
    rng = np.random.default_rng(seed)
    label, groups = rng.integers(0, 3, count), rng.integers(0, max(count // 2, 2), count)
    groups[:2] = 0, 1
    rows = rng.integers(0, 3, (count, 2))
    found = fold_of(split(label, folds, groups=groups, seed=seed), count)
    for group in np.unique(groups):
        assert len(np.unique(found[groups == group])) == 1
    label[:6], rows[:6, 0] = [0, 1, 2, 0, 1, 2], np.arange(7, 13)  # no class has only equal rows
    found = fold_of(split(label, folds, rows=rows, seed=seed), count)
    for row in np.unique(rows, axis=0):
        assert len(np.unique(found[(rows == row).all(1)])) == 1


def test_transitively_grouped_rows_share_a_fold():
    label = np.zeros(8, int)
    rows = np.array([[0], [0], [1], [2], [3], [4], [5], [6]])
    groups = np.array(["a", "b", "b", "c", "d", "e", "f", "g"])
    found = fold_of(split(label, 4, rows=rows, groups=groups), 8)
    assert found[0] == found[1] == found[2]


def test_folds_are_stratified():
    label = np.repeat([0, 1, 2], [100, 50, 10])
    for _, predicted in split(label, 5, seed=3):
        assert np.bincount(label[predicted]).tolist() == [20, 10, 2]


def test_equal_rows_of_sparse_matrix_share_a_fold():
    table = csr_matrix(np.array([[0, 1.0], [1, 0], [0, 1], [2, 0]]))
    found = fold_of(split(np.array([0, 1, 1, 0]), 3, rows=table), 4)
    assert found[1] != found[0] == found[2] != found[3]


def test_class_whose_rows_are_equal_is_split_over_folds():
    rows, label = np.repeat([[0.0], [1.0], [2.0], [2.0]], 6, axis=0), np.repeat([0, 1, 1, 0], 6)
    found = fold_of(split(label, 2, rows=rows), 24)
    assert [len(np.unique(found[rows[:, 0] == value])) for value in range(3)] == [1, 1, 1]
    label = np.repeat([0, 1, 1, 1], 6)
    found = fold_of(split(label, 2, rows=rows), 24)
    assert [len(np.unique(found[rows[:, 0] == value])) for value in range(3)] == [2, 1, 1]


def test_invalid_splits_raise_value_error():
    with pytest.raises(ValueError, match="all rows are equal: cross-fitting needs at least two"):
        split(np.array([0, 1, 0, 1]), 2, rows=np.ones((4, 2)))
    with pytest.raises(ValueError, match="every class has one row: cross-fitting needs classes"):
        split(np.arange(4), 2)
    with pytest.raises(ValueError, match=r"folds=1 is out of range: choose 2 to 4"):
        split(np.array([0, 1, 0, 1]), 1)
    with pytest.raises(ValueError, match="groups has 3 entries for 4 rows"):
        split(np.array([0, 1, 0, 1]), 2, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="all rows belong to one group"):
        split(np.array([0, 1, 0, 1]), 2, groups=["a"] * 4)
    for groups in ("site", np.array([[1], [2], [3], [4]]), pd.DataFrame({"site": [1, 2, 3, 4]})):
        with pytest.raises(ValueError, match=r"groups must hold one entry per row, such as table\['site'\]"):
            split(np.array([0, 1, 0, 1]), 2, groups=groups)
