"""Columns: roles, formats of values, and identifiers."""

import uuid
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.features import Features
from noiseproof.features.cells import decimal_mark, number
from noiseproof.features.columns import infer_column, texts_of
from noiseproof.features.ids import named_like_id


@pytest.mark.parametrize(
    ("cells", "role", "form"),
    [
        (["1", "2.5", "-3e4"], "number", "."),
        (["1,5", "2,25", "n/a"], "number", ","),
        (["1.234,5", "12", "1.000.000"], "number", ","),
        (["1,234.5", "1,000", "2"], "number", "."),
        (["1 234,5", "1\u00a0000", "2"], "number", ","),
        (["$1,200", "$3", "−4"], "number", "."),
        (["10 %", "3%", "?"], "number", "."),
        (["01234", "00012"], "category", ""),
        (["True", "false", None], "boolean", ""),
        (["2020-01-05", "2021-12-31 10:00"], "date", "ISO8601"),
        (["31.12.2020", "01.02.2021"], "date", "%d.%m.%Y"),
        (["12/31/2020", "01/02/2021"], "date", "%m/%d/%Y"),
        (["31/12/2020", "01/02/2021"], "date", "%d/%m/%Y"),
        (["5 Jan 2020", "12 Feb 2021"], "date", "%d %b %Y"),
        (["red", "blue", "red"], "category", ""),
        (["a b c d e", "f g h i j", "k l m n o"], "text", ""),
        ([f"street {n}" for n in range(50)], "text", ""),
        ([None, "", " "], "empty", ""),
    ],
)
def test_text_columns(cells, role, form):
    found = infer_column("x", pd.Series(cells, dtype=object))
    assert (found.role, found.form) == (role, form)


@pytest.mark.parametrize(
    ("series", "role"),
    [
        (pd.Series([1, 2]), "number"),
        (pd.Series([1, None], dtype="Int64"), "number"),
        (pd.Series([True, None], dtype="boolean"), "boolean"),
        (pd.Series([True, False]), "boolean"),
        (pd.to_datetime(pd.Series(["2020", "2021"])), "date"),
        (pd.to_datetime(pd.Series(["2020", "2021"]), utc=True), "date"),
        (pd.Series(pd.period_range("2020", periods=2, freq="M")), "date"),
        (pd.to_timedelta(pd.Series([1, 2]), unit="s"), "duration"),
        (pd.Series([1, 2], dtype="category"), "category"),
        (pd.Series(["a", None], dtype="string"), "category"),
        (pd.Series([None, np.nan]), "empty"),
    ],
)
def test_column_types(series, role):
    assert infer_column("x", series).role == role


@given(st.floats(-1e9, 1e9), st.sampled_from([",", "."]))
def test_number_formats(value, mark):
    group = "." if mark == "," else ","
    plain = f"{value:.3f}"
    text = plain.replace(".", mark)
    grouped = f"{value:,.3f}".translate(str.maketrans({",": group, ".": mark}))
    assert number(text, mark) == number(grouped, mark) == float(plain)
    assert decimal_mark([text, grouped, f"0{mark}5"]) == mark


def test_dates_are_encoded_as_parts():
    features = Features().fit({"d": ["2020-02-29 12:00", "2021-07-04 18:30", None], "x": [1, 2, 4]})
    plain = dict(zip(features.names, features.numeric({"d": ["2024-03-01 01:00"], "x": [1]})[0], strict=True))
    assert [plain[f"d: {part}"] for part in ("year", "month", "day", "weekday", "second of the day")] == [
        2024,
        3,
        1,
        4,
        3600,
    ]
    assert features.names.count("d: seconds is missing") == 1


def left_out(table, **settings):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        features = Features(**settings).fit(table)
    return features.left_out, [str(warning.message) for warning in seen]


ROWS = 40
RNG = np.random.default_rng(0)
OTHER = RNG.normal(size=ROWS)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("n", np.arange(ROWS)),
        ("n", RNG.permutation(np.arange(5, ROWS + 15))[:ROWS]),
        ("n", [str(value) for value in range(ROWS)]),
        ("user_id", RNG.choice(10**9, ROWS, replace=False)),
        ("customerId", [f"c{value}" for value in RNG.choice(10**9, ROWS, replace=False)]),
        ("x", [str(uuid.UUID(int=int(value))) for value in RNG.integers(0, 2**60, ROWS)]),
        ("x", [f"{value:040x}" for value in RNG.integers(0, 2**60, ROWS)]),
        ("file", [f"img_{value:05}.jpg" for value in RNG.permutation(ROWS)]),
        ("Unnamed: 0", RNG.choice(10**6, ROWS, replace=False)),
    ],
)
def test_ids_are_left_out_with_one_warning(name, cells):
    table = pd.DataFrame({name: cells, "other": OTHER})
    found, said = left_out(table)
    assert list(found) == [name]
    assert len(said) == 1
    assert said[0].startswith(f"not used as features: {name!r} (")
    assert left_out(table, drop_ids=False) == ({}, [])


def test_id_is_left_out_although_some_rows_are_repeated():
    table = pd.DataFrame({"order_id": [f"c{value * 7}" for value in range(ROWS)], "other": OTHER})
    assert list(left_out(pd.concat([table, table[:9]]))[0]) == ["order_id"]
    cells = table.assign(cells=[[value] for value in range(ROWS)])  # rows that cannot be compared
    assert list(left_out(pd.concat([cells, cells[:9]]))[0]) == []
    grid = pd.DataFrame({"age": np.repeat(np.arange(20), 9), "adult": np.repeat(np.arange(20) > 9, 9)})
    assert left_out(grid) == ({}, [])


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("user_id", RNG.integers(0, 9, ROWS)),
        ("paid", RNG.choice(10**9, ROWS, replace=False)),
        ("x", RNG.choice(10**6, ROWS, replace=False)),
        ("id", OTHER * 3),
        ("name", [f"{a} {b}" for a, b in zip("abcdefghijklmnopqrst" * 2, range(ROWS), strict=True)]),
        ("when", pd.date_range("2020", periods=ROWS)),
        ("year", RNG.integers(1990, 2020, ROWS)),
    ],
)
def test_other_columns_are_features(name, cells):
    assert left_out(pd.DataFrame({name: cells, "other": OTHER})) == ({}, [])


def test_constants_and_empty_columns_are_left_out_silently():
    table = pd.DataFrame({"a": 1, "b": None, "c": "x", "d": [1.0, 2, 2], "e": [5, None, 5]})
    found, said = left_out(table)
    assert found == {"a": "the same value in every row", "b": "no values", "c": "the same value in every row"}
    assert said == []


def test_only_column_is_kept():
    assert left_out({"id": range(30)}) == ({}, [])
    assert left_out({"a": [1, 1, 1]}) == ({}, [])
    assert left_out(np.arange(30).reshape(-1, 1)) == ({}, [])


@pytest.mark.parametrize(
    "name", ["id", "ID", "user id", "user-id", "id_user", "rowid", "row_number", "productKey", ""]
)
def test_names_of_ids(name):
    assert named_like_id(name)


@pytest.mark.parametrize("name", ["paid", "width", "idea", "valid", "monkey", "grid", "casino", "sid3"])
def test_names_that_are_not_ids(name):
    assert not named_like_id(name)


def test_arrays_in_cells_are_text():
    cells = pd.Series([np.array([1, 2]), np.array([]), None], dtype=object)
    assert texts_of(cells) == ["[1, 2]", "[]", None]


def test_values_of_another_kind_than_in_training_are_reported():
    features = Features().fit(pd.DataFrame({"size": np.arange(20.0) ** 2, "town": ["Oslo", "Rome"] * 10}))
    with pytest.warns(
        UserWarning, match=r"read as missing: columns 'size' \(a number in training, now 'big'\)"
    ):
        features.warn_of_unreadable(pd.DataFrame({"size": ["big"] * 3 + ["4"], "town": ["Oslo"] * 4}))


@pytest.mark.parametrize("sizes", [["1.5", "2", "?"], [1.5, None, 3.0], ["4"] * 19 + ["big"]])
def test_missing_and_few_invalid_values_are_not_reported(sizes):
    features = Features().fit(pd.DataFrame({"size": np.arange(20.0) ** 2}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.warn_of_unreadable(pd.DataFrame({"size": sizes}))
