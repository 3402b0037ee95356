"""A column in front without a name, or an id, that numbers the rows is no feature, and that is said."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from noiseproof.data import load
from noiseproof.data.sources import table_file, table_row_numbers

FRAME = pd.DataFrame({"a": [5.0, 7, 6, 8], "b": [1.5, 2, 9, 4], "label": ["x", "y", "x", "y"]})
SAID = (
    r"^\S+: not used as a feature: 'Unnamed: 0', which only numbers the rows; to use it, name it in features"
)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request, monkeypatch):
    monkeypatch.setattr(table_file, "CELLS", 2)
    return request.param


def spec_of(path, stream, **options):
    written = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"csv(path={path.as_posix()!r}, stream={stream}{written})"


@pytest.mark.parametrize("index", [[0, 1, 2, 3], [1, 2, 3, 4], [7, 8, 9, 10], [902, 14, 3, 511]])
def test_the_index_pandas_writes_is_left_out_and_named_once(index, stream, tmp_path):
    """Also that of a table that was cut or shuffled."""
    path = tmp_path / "a.csv"
    FRAME.set_index(pd.Index(index)).to_csv(path)
    for _ in range(2):
        with pytest.warns(UserWarning, match=SAID) as seen:
            data = load(spec_of(path, stream), root=tmp_path)
        assert len(seen) == 1
        assert data.columns == ("a", "b")
        assert data.batch([1]).input.tolist() == [[7, 2]]
        assert data.sample_shape == (2,)


def test_a_table_written_twice_has_two(stream, tmp_path):
    path = tmp_path / "a.csv"
    pd.read_csv(io.StringIO(FRAME.to_csv())).to_csv(path)
    with pytest.warns(UserWarning, match=r"'Unnamed: 0\.1' and 'Unnamed: 0', which only numbers the rows"):
        assert load(spec_of(path, stream), root=tmp_path).columns == ("a", "b")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("", [0, 1, 2, 0]),
        ("", [-1, 0, 1, 2]),
        ("", ["0.5", 1, 2, 3]),
        ("", ["False", "True", "True", "True"]),
        ("id", [0, 1, 2, 0]),
        ("id", [0.5, 1, 2, 3]),
        ("grid", [0, 1, 2, 3]),
        ("Unnamed: 7", [0, 1, 2, 3]),
    ],
)
def test_other_columns_stay(name, values, stream, tmp_path):
    path = tmp_path / "a.csv"
    FRAME.set_index(pd.Index(values)).to_csv(path, index_label=name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load(spec_of(path, stream), root=tmp_path)
    assert data.columns == (name or "Unnamed: 0", "a", "b")
    assert data.sample_shape == (3,)


def test_no_row_has_an_infinite_number(stream, tmp_path):
    path = tmp_path / "a.csv"
    FRAME.set_index(pd.Index([0, 1, 2, np.inf])).to_csv(path)
    with pytest.raises(ValueError, match="sample 3 contains inf"):
        load(spec_of(path, stream), root=tmp_path)


@pytest.mark.parametrize("name", ["id", "ID", "index", "PassengerId", "patient_id", "row_number"])
def test_an_id_is_left_out_wherever_it_stands(name, stream, tmp_path):
    path = tmp_path / "a.csv"
    frame = FRAME.assign(**{name: [1007, 1003, 1001, 1019]})[["a", name, "b", "label"]]
    frame.to_csv(path, index=False)
    for _ in range(2):
        with pytest.warns(UserWarning, match=f"not used as a feature: '{name}', which only numbers the rows"):
            data = load(spec_of(path, stream), root=tmp_path)
        assert data.columns == ("a", "b")
        assert data.batch([1]).input.tolist() == [[7, 2]]
    kept = load(spec_of(path, stream, features=f"a, {name}"), root=tmp_path)
    assert kept.columns == ("a", name)


def test_an_id_that_repeats_stays_beside_one_that_does_not(stream, tmp_path):
    path = tmp_path / "a.csv"
    FRAME.assign(shop_id=[1, 1, 2, 2], id=[4, 3, 2, 1]).to_csv(path)
    with pytest.warns(UserWarning, match="'Unnamed: 0' and 'id', which only numbers the rows"):
        assert load(spec_of(path, stream), root=tmp_path).columns == ("a", "b", "shop_id")


def test_a_column_in_another_place_stays(stream, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,,label\n3,0,x\n4,1,y\n9,2,y\n")
    assert load(spec_of(path, stream), root=tmp_path).columns == ("a", "Unnamed: 1")


@pytest.mark.usefixtures("recwarn")
def test_who_names_it_gets_it(stream, tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path)
    data = load(spec_of(path, stream, features="Unnamed: 0, b"), root=tmp_path)
    assert data.columns == ("Unnamed: 0", "b")
    assert data.batch([2]).input.tolist() == [[2, 9]]


def test_the_training_table_decides_for_the_test_table(stream, tmp_path):
    """Rows of a test table often count on where those of the training table ended."""
    spec = spec_of(tmp_path / "{split}.csv", stream)
    FRAME.to_csv(tmp_path / "train.csv")
    for index in (range(4, 8), list("efgh")):
        FRAME.set_index(pd.Index(index)).to_csv(tmp_path / "test.csv")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert load(spec, root=tmp_path, split="test").columns == ("a", "b")
    FRAME.to_csv(tmp_path / "test.csv")
    FRAME.set_index(pd.Index([3, 1, 3, 2])).to_csv(tmp_path / "train.csv")
    for split in ("train", "test"):
        assert load(spec, root=tmp_path, split=split).columns == ("Unnamed: 0", "a", "b")


def test_nothing_but_row_numbers_are_no_features(stream, tmp_path):
    path = tmp_path / "a.csv"
    FRAME[["label"]].to_csv(path)
    with (
        pytest.warns(UserWarning, match=SAID),
        pytest.raises(ValueError, match="no column beside the labels"),
    ):
        load(spec_of(path, stream), root=tmp_path)


def test_the_answer_is_kept_and_asked_again_when_the_table_changes(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    looks = []
    real = table_row_numbers.row_numbers
    monkeypatch.setattr(table_row_numbers, "row_numbers", lambda *given: looks.append(1) or real(*given))
    FRAME.to_csv(path)
    for _ in range(2):
        with pytest.warns(UserWarning, match=SAID):
            load(spec_of(path, True), root=tmp_path)
    assert len(looks) == 1
    FRAME.set_index(FRAME.index - 1).to_csv(path)
    assert load(spec_of(path, True), root=tmp_path).columns == ("Unnamed: 0", "a", "b")
    assert len(looks) == 2


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_parquet(name, stream, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which is an extra")
    path = tmp_path / "a.parquet"
    FRAME.rename_axis(name).reset_index().to_parquet(path)
    with pytest.warns(UserWarning, match=f"not used as a feature: {name!r}, which only numbers"):
        data = load(spec_of(path, stream), root=tmp_path)
    assert data.columns == ("a", "b")
    assert np.array_equal(data.batch(slice(None)).input, FRAME[["a", "b"]])
