"""CSV and Parquet tables."""

import builtins
import gzip
import sys
import types

import pandas as pd
import pytest
from image_samples import encoded, picture

from noiseproof.data import load
from noiseproof.features import Features


def csv(path, text, **options):
    path.write_text(text)
    written = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"csv(path={path.as_posix()!r}{written})"


def rows(data):
    return data.inputs.values.to_numpy().tolist()


def test_rows_of_numbers(tmp_path):
    data = load(csv(tmp_path / "a.csv", "x,y,label\n1,2.5,dog\n3,4,cat\n5,6,dog\n"))
    assert data.class_names == ("cat", "dog")
    assert data.label.tolist() == [1, 0, 1]
    assert rows(data) == [[1, 2.5], [3, 4], [5, 6]]
    assert data.columns == ("x", "y")
    assert data.sample_shape == (2,)


def test_numeric_labels_clean_labels_and_features(tmp_path):
    text = "id,a,b,given,truth\nx1,1,2,0,0\nx2,3,4,2,1\nx3,5,6,1,1\n"
    data = load(csv(tmp_path / "a.csv", text, label="given", clean_label="truth", features="b, a"))
    assert data.label.tolist() == [0, 2, 1]
    assert data.clean_label.tolist() == [0, 1, 1]
    assert rows(data) == [[2, 1], [4, 3], [6, 5]]
    assert load(csv(tmp_path / "a.tsv", "a\tlabel\n1\t0\n2\t1\n")).num_classes == 2


def test_test_rows_use_the_training_classes(tmp_path):
    (tmp_path / "train.csv").write_text("a,label\n1,cat\n2,dog\n3,eel\n")
    (tmp_path / "test.csv").write_text("a,label\n1,eel\n2,cat\n3,dog\n")
    spec = f"csv(path={(tmp_path / '{split}.csv').as_posix()!r})"
    assert load(spec, split="test").label.tolist() == [2, 0, 1]
    (tmp_path / "test.csv").write_text("a,label\n1,eel\n2,fox\n")
    with pytest.raises(
        ValueError, match=r"test\.csv: row 1 has the label 'fox' in 'label', which is not a class in training"
    ):
        load(spec, split="test")


def test_paths_of_images(tmp_path):
    (tmp_path / "images").mkdir()
    for number in range(3):
        (tmp_path / "images" / f"{number}.png").write_bytes(
            encoded(number, "png") if number != 1 else b"broken"
        )
    text = "file,label\nimages/2.png,b\nimages/1.png,a\nimages/0.png,a\n"
    data = load(csv(tmp_path / "a.csv", text, image="file"))
    assert (data.batch([0]).input[0].numpy() == picture(2).transpose(2, 0, 1)).all()
    with pytest.warns(UserWarning, match=r"left out sample 1, .*1\.png"):
        data = load(csv(tmp_path / "a.csv", text, image="file", on_error="skip"))
    assert data.index.tolist() == [0, 2]
    assert data.label.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "options", "kind", "message"),
    [
        ("a,lable\n1,0\n", {}, ValueError, r"unknown column 'label', did you mean 'lable'\?"),
        ("a,label\n1,x\n2,\n", {}, ValueError, "row 1 has no value for 'label'"),
        ("a,label\n1,0.5\n", {}, TypeError, r"labels in 'label' have fractions, such as 0\.5"),
        ("a,label,label\n1,0,0\n", {}, ValueError, "column 'label' occurs more than once in the header"),
        ("label\n0\n", {}, ValueError, "no column besides the label"),
        ("a,label\n", {}, ValueError, "has no rows"),
        ("a,label\n1,-1\n", {}, ValueError, "row 0 has the label -1 in 'label', below 0"),
        ("a,label\n1,0\n", {"features": "c"}, ValueError, "unknown column 'c'"),
        ("a,label\n1,0\n", {"features": "a, label"}, ValueError, "contains the labels, 'label'"),
        (
            "a,label,truth\n1,0,0\n",
            {"features": "truth", "clean_label": "truth"},
            ValueError,
            "contains the labels, 'truth'",
        ),
        ("a,label\n1,0\n2,1,3,4\n", {}, ValueError, r"cannot read the table .*a\.csv: .*line 3"),
        ("", {}, ValueError, r"cannot read the table .*a\.csv: No columns"),
        ("a,label\n1,0\n2,1000000000000\n", {}, ValueError, "row 1 has the label 10{12} .* is this an id"),
        (
            "a,label,truth\n1,0,0\n2,1,1000000000000\n",
            {"clean_label": "truth"},
            ValueError,
            "row 1 has the label 10{12} in 'truth', .* is this an id",
        ),
        ("a,label\n1,0\n", {"image": "a", "clean_label": "truht"}, ValueError, "unknown column 'truht'"),
    ],
)
def test_invalid_arguments_are_refused(text, options, kind, message, tmp_path):
    with pytest.raises(kind, match=message):
        load(csv(tmp_path / "a.csv", text, **options))


def test_unknown_suffixes_and_missing_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.csv, \.tsv or \.parquet"):
        load(csv(tmp_path / "a.txt", "x"))
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv is not a file"):
        load(f"csv(path={(tmp_path / 'nothing.csv').as_posix()!r})")


def test_parquet(tmp_path, monkeypatch):
    """pyarrow is optional, so pandas.read_parquet is replaced."""
    path = tmp_path / "a.parquet"
    path.touch()
    monkeypatch.setattr(
        pd, "read_parquet", lambda place, **_: pd.DataFrame({"a": [1.0, 2.0], "label": ["x", "y"]})
    )
    data = load(f"parquet(path={path.as_posix()!r})")
    assert data.label.tolist() == [0, 1]
    assert rows(data) == [[1], [2]]


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.touch()
    original = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] in ("pyarrow", "fastparquet"):
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="needs pyarrow: pip install pyarrow"):
        load(f"parquet(path={path.as_posix()!r})")


def test_invalid_parquet_is_not_reported_as_missing_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"garbage")
    monkeypatch.setitem(sys.modules, "pyarrow", types.ModuleType("pyarrow"))
    for problem in (ImportError("no usable engine"), ValueError("magic bytes\nnot found"), OSError("cut")):

        def broken(place, columns=None, problem=problem):
            raise problem

        monkeypatch.setattr(pd, "read_parquet", broken)
        with pytest.raises(ValueError, match=r"cannot read the table .*a\.parquet: (no|magic|cut)"):
            load(f"parquet(path={path.as_posix()!r})")


def test_other_encodings_and_damaged_compression_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,label\n1,caf\xe9\n")
    (tmp_path / "b.csv.gz").write_bytes(b"a,label\n1,0\n")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"a,label\n" + b"1,0\n" * 99)[:-12])
    for name in ("a.csv", "b.csv.gz", "c.csv.gz"):
        with pytest.raises(ValueError, match=rf"cannot read the table .*{name}") as raised:
            load(f"csv(path={(tmp_path / name).as_posix()!r})")
        assert str(raised.value).endswith(": save it as UTF-8") == (name == "a.csv")


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("stream", [False, True])
def test_semicolon_and_tab_separators(sign, stream, tmp_path):
    text = (
        "a;b;label\n1;2.5;dog\n3;4;a, b\n".replace(";", sign)
        if sign != ","
        else 'a,b,label\n1,2.5,dog\n3,4,"a, b"\n'
    )
    data = load(csv(tmp_path / "a.csv", text, stream=stream), root=tmp_path)
    assert (data.class_names, data.columns) == (("a, b", "dog"), ("a", "b"))
    assert data.batch([0, 1]).input.tolist() == Features().fit_transform([[1, 2.5], [3, 4]]).tolist()


@pytest.mark.parametrize("text", ['"a,b";label\n1;0\n2;1\n', "\n\na;label\n1;0\n2;1\n"])
def test_separator_is_inferred_from_the_first_line(text, tmp_path):
    assert rows(load(csv(tmp_path / "a.csv", text))) == [[1], [2]]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("other", ["cat ", "CAT", " Cat"])
def test_class_names_that_differ_in_spaces_or_case_cause_a_warning(other, stream, tmp_path):
    with pytest.warns(
        UserWarning, match=f"only in spaces or case: .*{other!r}.*; use one spelling if they are one class"
    ):
        data = load(
            csv(tmp_path / "a.csv", f"a,label\n1,cat\n2,{other}\n3,dog\n", stream=stream), root=tmp_path
        )
    assert data.num_classes == 3


def test_values_equal_in_float32_are_not_duplicates(tmp_path):
    text = "time,label\n" + "".join(f"{1_700_000_000 + 10 * n},{n % 2}\n" for n in range(20))
    data = load(csv(tmp_path / "a.csv", text))
    assert len(data.batch(range(20)).input.unique()) == 20


def test_na_is_a_valid_label(tmp_path):
    with pytest.warns(UserWarning, match="'NA' and 'null' are classes that look like missing labels"):
        data = load(csv(tmp_path / "a.csv", "a,label\n1,NA\n2,EU\n3,null\n"))
    assert data.class_names == ("EU", "NA", "null")
    assert data.label.tolist() == [1, 0, 2]


def test_image_table_with_clean_labels(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(encoded(number, "png") if number != 1 else b"broken")
    text = "file,label,truth\n0.png,a,b\n1.png,c,a\n2.png,b,c\n"
    options = {"image": "file", "clean_label": "truth"}
    data = load(csv(tmp_path / "a.csv", text.replace("1.png", "0.png"), **options))
    assert data.class_names == ("a", "b", "c")
    assert data.clean_label.tolist() == [1, 0, 2]
    text = text + "2.png,c,c\n"
    with pytest.warns(UserWarning, match=r"left out sample 1, .*1\.png"):
        data = load(csv(tmp_path / "a.csv", text, on_error="skip", **options))
    assert data.label.tolist() == [0, 1, 2]
    assert data.clean_label.tolist() == [1, 2, 2]


def split_tables(folder, train, test):
    (folder / "train.csv").write_text(train)
    (folder / "test.csv").write_text(test)
    return f"csv(path={(folder / '{split}.csv').as_posix()!r}, clean_label='truth')"


def test_number_of_classes_is_that_of_training(tmp_path):
    train = "a,label,truth\n1,0,0\n2,1,1\n3,0,2\n"
    spec = split_tables(tmp_path, train, "a,label,truth\n1,0,0\n2,1,1\n3,2,2\n")
    assert load(spec, split="test").num_classes == 3
    with pytest.warns(UserWarning, match="no sample has the label 2"):
        assert load(spec).num_classes == 3
    spec = split_tables(tmp_path, train, "a,label,truth\n1,0,0\n2,1,5\n")
    with pytest.raises(
        ValueError, match=r"test\.csv: row 1 has the label 5 in 'truth', which is not a class"
    ):
        load(spec, split="test")


def test_text_classes_come_from_label_and_clean_label(tmp_path):
    spec = split_tables(tmp_path, "a,label,truth\n1,b,a\n2,c,c\n3,a,10\n4,10,a\n", "a,label,truth\n1,10,10\n")
    assert load(spec).class_names == ("10", "a", "b", "c")
    with pytest.warns(UserWarning, match="no sample"):
        data = load(spec, split="test")
    assert data.class_names == ("10", "a", "b", "c")
    assert data.label.tolist() == data.clean_label.tolist() == [0]


def test_missing_column_is_reported_for_its_table(tmp_path):
    spec = split_tables(tmp_path, "a,label\n1,0\n", "a,label,truth\n1,0,0\n")
    with pytest.raises(ValueError, match=r"train\.csv: unknown column 'truth'"):
        load(spec, split="test")


@pytest.mark.parametrize("stream", [False, True])
def test_labels_that_look_like_ids_cause_a_warning(stream, tmp_path):
    text = "a,label\n" + "".join(f"{n},{n}\n" for n in range(30))
    with pytest.warns(UserWarning, match="30 rows have 30 different labels: is 'label' an id?"):
        load(csv(tmp_path / "a.csv", text, stream=stream), root=tmp_path)
