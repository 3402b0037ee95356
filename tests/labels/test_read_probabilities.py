"""Probabilities from files: rows are matched by index, errors take one line."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.labels import read_probabilities
from noiseproof.labels.export import neutral

NAMES = ["cat", "=1+1", "dog"]


def table_of(index, classes, seed=0):
    values = np.random.default_rng(seed).dirichlet(np.ones(classes), len(index))
    table = pd.DataFrame(values, columns=[f"probability_{name}" for name in NAMES[:classes]])
    table.insert(0, "index", index)
    return table, values


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20, unique=True), st.randoms())
def test_rows_are_matched_by_index(tmp_path_factory, index, random):
    path = tmp_path_factory.mktemp("p") / "p.csv"
    table, values = table_of(index, 3)
    order, columns = random.sample(range(len(index)), len(index)), random.sample(list(table), 4)
    table.iloc[order][columns].rename(columns=neutral).to_csv(path, index=False)
    wanted = random.sample(range(len(index)), random.randint(1, len(index)))
    found = read_probabilities(path, np.array(index)[wanted], NAMES)
    assert np.allclose(found, values[wanted], atol=1e-12)


def test_npy_and_parquet_files_are_read(tmp_path):
    pytest.importorskip("pyarrow")
    table, values = table_of([5, 3, 9], 3)
    table.to_parquet(tmp_path / "p.parquet")
    np.save(tmp_path / "p.npy", values)
    assert (read_probabilities(tmp_path / "p.parquet", np.array([3, 5]), NAMES) == values[[1, 0]]).all()
    assert (read_probabilities(tmp_path / "p.npy", np.array([5, 3, 9]), NAMES) == values).all()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.txt", "", r"p\.txt': the name must end in \.csv, \.parquet or \.npy"),
        ("p.csv", "", r"cannot read .*p\.csv': No columns to parse"),
        (
            "p.csv",
            "index,probability_a\n1,0.5\n",
            "has no column 'probability_b'; its columns are index, probability_a",
        ),
        ("p.csv", "probability_a,probability_b\n1,0\n", "has no column 'index'"),
        ("p.csv", "index,probability_a,probability_b\n1,1,0\n1,1,0\n", "sample 1 occurs twice"),
        (
            "p.csv",
            "index,probability_a,probability_b\n1,1,0\n",
            "1 samples of the record are missing in",
        ),
        ("p.csv", "index,probability_a,probability_b\nx,1,0\n", "'index' of .* must hold whole numbers only"),
        (
            "p.csv",
            "index,probability_a,probability_b\n1,1,0\n2,0.5,=1\n",
            r"probability_b of sample 2 is \"'=1\", not a number",
        ),
        ("p.csv", "index,probability_a,probability_b\n1,1,0\n2,,1\n", "probability_a of sample 2 is 'nan'"),
        ("p.npy", "no array", r"p\.npy': it is not an array of numbers"),
        ("p.npy", "", r"p\.npy': it is not an array of numbers"),
    ],
)
def test_invalid_files_raise_value_error_in_one_line(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message) as raised:
        read_probabilities(tmp_path / name, np.array([1, 2]), ["a", "b"])
    assert "\n" not in str(raised.value).strip()


def test_pickled_arrays_are_rejected(tmp_path):
    np.save(tmp_path / "p.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="is not an array of numbers"):
        read_probabilities(tmp_path / "p.npy", np.array([1]), ["a", "b"])
    with pytest.raises(ValueError, match="No such file or directory"):
        read_probabilities(tmp_path / "none.npy", np.array([1]), ["a", "b"])
