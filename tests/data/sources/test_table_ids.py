"""Columns of a table that only number or name the rows are left out, with one warning."""

import io
import warnings

import pandas as pd
import pytest

from noiseproof.data import load
from noiseproof.data.sources import table_file

FRAME = pd.DataFrame({"a": [5.0, 7, 6, 8], "b": [1.5, 2, 9, 4], "label": ["x", "y", "x", "y"]})


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request, monkeypatch):
    monkeypatch.setattr(table_file, "CELLS", 2)
    return request.param


def spec_of(path, stream, **options):
    written = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"csv(path={path.as_posix()!r}, stream={stream}{written})"


def names_of(spec, root, split="train"):
    data = load(spec, root=root, split=split)
    return (data.fit_features() if data.is_raw else data.features).names


@pytest.mark.parametrize("index", [[0, 1, 2, 3], [1, 2, 3, 4], [7, 8, 9, 10], [902, 14, 3, 511]])
def test_pandas_index_column_is_left_out_with_one_warning(index, stream, tmp_path):
    """Also if rows were removed or shuffled."""
    path = tmp_path / "a.csv"
    FRAME.set_index(pd.Index(index)).to_csv(path)
    with pytest.warns(UserWarning, match=r"not used as features: 'Unnamed: 0' \(an id: .*; to use") as seen:
        assert names_of(spec_of(path, stream), tmp_path) == ["a", "b"]
    assert len(seen) == 1


def test_two_pandas_index_columns_are_left_out(stream, tmp_path):
    path = tmp_path / "a.csv"
    pd.read_csv(io.StringIO(FRAME.to_csv())).to_csv(path)
    with pytest.warns(UserWarning, match=r"'Unnamed: 0\.1' \(.*\); 'Unnamed: 0' \("):
        assert names_of(spec_of(path, stream), tmp_path) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("", [0, 1, 2, 0]),
        ("", ["0.5", 1, 2, 3]),
        ("", ["False", "True", "True", "True"]),
        ("age", [0, 1, 2, 3]),
    ],
)
def test_other_columns_are_used(name, values, stream, tmp_path):
    path = tmp_path / "a.csv"
    FRAME.set_index(pd.Index(values)).to_csv(path, index_label=name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names_of(spec_of(path, stream), tmp_path) == [name or "Unnamed: 0", "a", "b"]


def test_id_column_in_features_is_used(stream, tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path)
    assert names_of(spec_of(path, stream, features="Unnamed: 0, b"), tmp_path) == ["Unnamed: 0", "b"]


@pytest.mark.filterwarnings("ignore:not used as features")
def test_id_columns_are_determined_by_the_training_table(tmp_path):
    spec = spec_of(tmp_path / "{split}.csv", True)
    FRAME.to_csv(tmp_path / "train.csv")
    for index in (range(4, 8), list("efgh"), [1, 1, 1, 1]):
        FRAME.set_index(pd.Index(index)).to_csv(tmp_path / "test.csv")
        assert names_of(spec, tmp_path, "test") == ["a", "b"]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_parquet(name, stream, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which is an extra")
    path = tmp_path / "a.parquet"
    FRAME.rename_axis(name).reset_index().to_parquet(path)
    with pytest.warns(UserWarning, match=f"not used as features: {name!r} "):
        assert names_of(spec_of(path, stream), tmp_path) == ["a", "b"]
