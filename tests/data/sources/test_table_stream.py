"""Streamed tables have the same values, labels, classes and errors as tables read at once."""

import gzip
import os
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noiseproof.data import load
from noiseproof.data.sources import table_file
from noiseproof.features import Features


@pytest.fixture(autouse=True)
def tiny_chunks(monkeypatch):
    """Two rows of three columns at a time, or three of two."""
    monkeypatch.setattr(table_file, "CELLS", 6)


def outcome(spec, root, split="train"):
    """All attributes of the data, or type and text of the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            data = load(spec, root=root, split=split, duplicates="ignore")
            batch = data.batch(slice(None))
        except (ValueError, TypeError) as problem:
            return type(problem), str(problem)
    clean = None if data.clean_label is None else data.clean_label.tolist()
    texts = [text for text in map(str, (w.message for w in caught)) if "not used as features" not in text]
    return data.class_names, batch.label.tolist(), clean, batch.input.dtype, batch.input.tolist(), texts


def both(path, root, split="train", kind="csv", **options):
    """The same table read at once, and streamed twice: the second time from the cache."""
    written = "".join(f", {name}={value!r}" for name, value in options.items())
    specs = [f"{kind}(path={path.as_posix()!r}{written}, stream={stream})" for stream in (False, True, True)]
    return [outcome(spec, root, split) for spec in specs]


def csv_of(columns):
    lines = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, line)) for line in lines)]) + "\n"


def test_numbers_text_and_clean_labels(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "a,b,given,truth\n1,0.5,dog,cat\n2,1e-3,cat,cat\n3,-7,dog,dog\n4,8,eel,cat\n5,9,eel,eel\n"
    )
    whole, first, again = both(path, tmp_path, label="given", clean_label="truth")
    assert whole == first == again
    assert whole[:3] == (("cat", "dog", "eel"), [1, 0, 1, 2, 2], [0, 0, 1, 0, 2])
    assert whole[3] == torch.float32
    spec = f"csv(path={path.as_posix()!r}, label='given', clean_label='truth', stream=True)"
    assert isinstance(load(spec, root=tmp_path).inputs, np.memmap)


EASY = list(range(8))
LATE = {
    "text among numbers": {"a": EASY, "label": [1, 2, 3, "04", 5, 6, 7, "x"]},
    "numbers with zeros in front": {"a": EASY, "label": ["00", "01", "02", "01", "00", "02", "01", "00"]},
    "zeros in front, then text": {"a": EASY, "label": ["00", "01", "02", "01", "00", "02", "01", "z"]},
    "true and false": {"a": EASY, "label": ["True", "False"] * 4},
    "true and false, then text": {"a": EASY, "label": ["True", "False"] * 3 + ["true", "maybe"]},
    "a float": {"a": EASY, "label": [0, 1, 0, 1, 0, 1, 0, 1.5]},
    "a missing label": {"a": EASY, "label": [0, 1, 0, 1, 0, 1, 0, ""]},
    "a missing text label": {"a": EASY, "label": ["x", "y"] * 3 + ["", "x"]},
    "no label at all": {"a": EASY, "label": [""] * 8},
    "an id": {"a": EASY, "label": [0, 1, 0, 1, 0, 1, 0, 10**12]},
    "a negative label": {"a": EASY, "label": [0, 1, 0, 1, 0, 1, 0, -1]},
    "NA is a class": {"a": EASY, "label": ["NA", "EU"] * 3 + ["null", "nan"]},
    "quotes and commas": {"a": EASY, "label": ['"a,b"', '"c ""d"""', "e"] * 2 + ['" f"', " f"]},
    "a missing value": {"a": EASY, "b": [1, 2, 3, 4, 5, "", 7, ""], "label": [0, 1] * 4},
    "text": {"a": EASY, "b": [1, 2, 3, 4, 5, 6, "seven", "eight"], "label": [0, 1] * 4},
    "text in the first row": {"a": EASY, "b": ["one", 2, 3, 4, 5, 6, 7, 8], "label": [0, 1] * 4},
    "NA is text": {"a": [1, 2, 3, 4, 5, 6, 7, "NA"], "label": [0, 1] * 4},
    "text, and a gap before it": {"a": [1, "", 3, 4, 5, "six", 7, 8], "label": [0, 1] * 4},
    "text, and a gap after it": {"a": [1, "two", 3, 4, 5, 6, "", 8], "label": [0, 1] * 4},
    "a gap in a later column": {"a": [1, 2, 3, 4, 5, 6, 7, "x"], "b": ["", *EASY[1:]], "label": [0, 1] * 4},
    "true and numbers": {"a": ["True"] * 6 + [1, 0], "label": [0, 1] * 4},
    "numbers and true": {"a": [1, 0] * 3 + ["True"] * 2, "label": [0, 1] * 4},
    "true and false features": {"a": ["True", "False"] * 4, "label": [0, 1] * 4},
    "infinite": {"a": [1, 2, 3, 4, 5, "-inf", "inf", 8], "label": [0, 1] * 4},
    "too large for float32": {"a": [1, 2, 3, 4, 5, "1e300", 7, 8], "label": [0, 1] * 4},
    "infinite and text elsewhere": {"a": ["inf", *EASY[1:]], "b": [*EASY[1:], "x"], "label": [0, 1] * 4},
    "a label problem and text": {"a": ["x", *EASY[1:]], "label": [0, 1] * 3 + [0, ""]},
    "more than 64 bits": {"a": [1, 2.5, 3, 4, 5, 6, "123456789012345678901", 8], "label": [0, 1] * 4},
    "more than 64 bits first": {"a": ["123456789012345678901", 2.5, 3, 4, 5, 6, 7, 8], "label": [0, 1] * 4},
    "64 bits and below zero": {"a": [-1, 2, 3, 4, 5, 6, 7, 2**64 - 1], "label": [0, 1] * 4},
    "more than 53 bits": {"a": [2**53 + 1, 2**60 + 2**36 + 1, 3, 4, 5, 6, 7, 0.5], "label": [0, 1] * 4},
    "a long row": {"a": [*EASY[:6], "7,7,7", 8], "label": [0, 1] * 4},
}


@pytest.mark.parametrize("case", list(LATE))
def test_values_that_differ_only_in_a_late_chunk(case, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(csv_of(LATE[case]))
    whole, first, again = both(path, tmp_path)
    assert whole == first
    assert whole == again


@pytest.mark.parametrize(
    ("case", "kind", "message"),
    [
        ("a missing label", ValueError, "row 7 has no value for 'label'"),
        ("an id", ValueError, "row 7 has the label 1000000000000"),
        ("a long row", ValueError, "line 8"),
    ],
)
def test_error_in_a_late_chunk_leaves_no_cache(case, kind, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(csv_of(LATE[case]))
    with pytest.raises(kind, match=message):
        load(f"csv(path={path.as_posix()!r}, stream=True)", root=tmp_path)
    kept = list(tmp_path.rglob("streams/*/inputs.npy"))
    assert not kept
    assert not list(tmp_path.rglob("*.part"))


CELLS = st.sampled_from(
    ["1", "02", "-3", "0.5", "1e3", "", "x", "True", "False", "NA", "inf", "16777217", " 4"]
)
LABELS = st.sampled_from(["0", "1", "01", "2", "", "x", "True", "0.0", "NA", " 1"])


@given(
    rows=st.lists(st.tuples(CELLS, CELLS, LABELS), min_size=0, max_size=9),
    plain=st.integers(0, 6),
    cells=st.integers(1, 12),
)
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table(rows, plain, cells, tmp_path_factory, monkeypatch):
    """``plain`` rows of numbers come first, so that an unusual row is in a late chunk."""
    monkeypatch.setattr(table_file, "CELLS", cells)
    folder = tmp_path_factory.mktemp("table")
    everything = [("1", "2", "0")] * plain + rows
    path = folder / "a.csv"
    path.write_text("a,b,label\n" + "".join(",".join(row) + "\n" for row in everything))
    whole, first, again = both(path, folder)
    assert whole == first
    assert whole == again


@pytest.mark.parametrize(
    "options",
    [
        {"features": "c"},
        {"features": "b, a"},
        {"features": "b, c"},
        {"features": "a, label"},
        {"features": "a, b, truht"},
        {"label": "lable"},
        {"clean_label": "truht"},
        {"clean_label": "a"},
        {"clean_label": "a", "features": "a"},
        {"features": "text"},
        {"features": "a, text, gap"},
        {"features": "gap, text, nothing"},
    ],
)
def test_invalid_options_are_refused(options, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,text,gap,label\n0,5,x,1,0\n1,6,y,2,1\n2,7,z,,0\n1,8,z,3,1\n")
    whole, first, again = both(path, tmp_path, **options)
    assert whole == first == again


@pytest.mark.parametrize("text", ["", "a,label\n", "label\n0\n1\n", "a,label\n1,0", "a,a,label\n1,2,0\n"])
def test_unusual_tables(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    whole, first, again = both(path, tmp_path)
    assert whole == first == again


def test_test_rows_use_the_training_classes(tmp_path):
    (tmp_path / "train.csv").write_text("a,label\n1,cat\n2,dog\n3,eel\n4,dog\n")
    path = tmp_path / "{split}.csv"
    for labels in (["eel", "cat", "dog"], ["eel", "cat", "fox"], [0, 1, 2], ["cat", "", "dog"]):
        (tmp_path / "test.csv").write_text(csv_of({"a": [1, 2, 3], "label": labels}))
        whole, first, again = both(path, tmp_path, split="test")
        assert whole[:3] == first[:3], "the features of a streamed test table are those of training"
        assert first == again


def test_compressed_and_tab_separated(tmp_path):
    text = csv_of({"a": range(9), "b": range(9), "label": [0, 1, 2] * 3})
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.replace(",", ";").encode()))
    for name in ("a.csv.gz", "a.tsv", "b.csv.gz"):
        whole, first, again = both(tmp_path / name, tmp_path)
        assert whole == first == again
        assert len(whole[1]) == 9
    content = (tmp_path / "a.csv.gz").read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(content[:-12])
    whole, first, again = both(tmp_path / "a.csv.gz", tmp_path)
    assert whole == first == again
    assert whole[0] is ValueError


def test_table_is_encoded_once_until_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n1,0\n2,1\n3,1\n")
    spec = f"csv(path={path.as_posix()!r}, stream=True)"
    passes = []
    real = table_file.table_chunks
    monkeypatch.setattr(table_file, "table_chunks", lambda *given: passes.append(1) or real(*given))
    load(spec, root=tmp_path)
    load(spec, root=tmp_path)
    assert len(passes) == 4, "labels, features and inputs, then labels alone"
    path.write_text("a,label\n1,0\n5,1\n3,1\n")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    rows = load(spec, root=tmp_path).batch(slice(None)).input
    assert rows.tolist() == Features().fit_transform([[1], [5], [3]]).tolist()
    assert len(passes) == 7


def test_cache_depends_on_the_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,given,truth\n1,5,0,1\n2,6,1,0\n3,7,1,1\n")
    for options in (
        {"features": "a", "label": "given"},
        {"features": "b", "label": "given"},
        {"features": "b", "label": "truth"},
        {"features": "b", "label": "truth", "clean_label": "given"},
    ):
        whole, first, again = both(path, tmp_path, **options)
        assert whole == first == again
        assert len(whole) == 6


def test_column_type_is_inferred_from_all_rows(tmp_path, monkeypatch):
    """By default pandas infers types per 256 kB: the class 01 of the first rows would become 1."""
    monkeypatch.undo()
    path = tmp_path / "a.csv"
    path.write_text("a,label\n" + "123456,01\n" * 60_000 + "1,x\n")
    whole, first, again = both(path, tmp_path)
    assert whole == first == again
    assert whole[0] == ("01", "x")


@pytest.mark.parametrize("name", ["inputs.float32", "features.json", "features.safetensors"])
@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_damaged_cache_is_rebuilt(name, damage, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n1,x\n2,y\n3,y\n")
    whole, first, _ = both(path, tmp_path)
    (file,) = tmp_path.glob(f"streams/*/{name}")
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-3])
    assert both(path, tmp_path)[1] == whole == first


def test_large_files_are_streamed_by_default(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n1,0\n2,1\n")
    spec, size = f"csv(path={path.as_posix()!r})", path.stat().st_size
    for free, mapped in ((4 * size, False), (4 * size - 1, True)):
        monkeypatch.setattr("noiseproof.memory.available_memory", lambda free=free: free)
        assert isinstance(load(spec, root=tmp_path).inputs, np.memmap) == mapped
    monkeypatch.setattr("noiseproof.memory.available_memory", lambda: 0)
    assert not isinstance(load(spec[:-1] + ", stream=False)", root=tmp_path).inputs, np.memmap)
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    monkeypatch.setattr("noiseproof.memory.available_memory", lambda: 16 * packed.stat().st_size - 1)
    spec = f"csv(path={packed.as_posix()!r})"
    assert isinstance(load(spec, root=tmp_path).inputs, np.memmap)


def test_image_tables_write_no_cache(tmp_path):
    from image_samples import encoded

    (tmp_path / "0.png").write_bytes(encoded(0, "png"))
    (tmp_path / "a.csv").write_text("file,label\n0.png,0\n")
    data = load(f"csv(path='{tmp_path.as_posix()}/a.csv', image='file', stream=True)", root=tmp_path)
    assert data.batch([0]).input.dtype == torch.uint8
    assert not (tmp_path / "streams").exists()


FRAMES = {
    "plain": pd.DataFrame({"a": [1.5, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5], "label": list("xyxzz")}),
    "integers": pd.DataFrame({"a": [1.5, 2, 3, 4, 5], "label": [0, 1, 2, 1, 0]}),
    "bools": pd.DataFrame({"a": [True, False, True, True, False], "label": [True, False, True, True, False]}),
    "a missing value": pd.DataFrame({"a": [1.5, 2, 3, None, 5], "label": [0, 1, 2, 1, 0]}),
    "a missing integer": pd.DataFrame({"a": pd.array([1, 2, 3, 4, None], "Int64"), "label": [0, 1, 2, 1, 0]}),
    "a missing label": pd.DataFrame({"a": [1, 2, 3, 4, 5], "label": ["x", "y", "x", "y", None]}),
    "a missing number as label": pd.DataFrame({"a": [1, 2, 3, 4, 5], "label": [0, 1, 0, 1, None]}),
    "categories": pd.DataFrame({"a": [1, 2, 3, 4, 5], "label": pd.Categorical(list("yxyzx"), list("zyx"))}),
    "numbers as categories": pd.DataFrame({"a": [1, 2, 3, 4, 5], "label": pd.Categorical([10, 9, 9, 10, 9])}),
    "text": pd.DataFrame({"a": ["1", "2", "3", "4", "x"], "label": [0, 1, 0, 1, 0]}),
    "digits as text": pd.DataFrame({"a": ["1", "2", "3", "4", "5"], "label": [0, 1, 0, 1, 0]}),
    "dates": pd.DataFrame({"a": pd.date_range("2020", periods=5), "label": [0, 1, 0, 1, 0]}),
    "float labels": pd.DataFrame({"a": [1, 2, 3, 4, 5], "label": [0.0, 1, 0, 1, 0]}),
    "infinite": pd.DataFrame({"a": [1, 2, 3, 4, np.inf], "label": [0, 1, 0, 1, 0]}),
    "an index": pd.DataFrame({"a": [1, 2, 3, 4, 5], "label": [0, 1, 0, 1, 0]}, index=list("vwxyz")),
    "no rows": pd.DataFrame({"a": [1.0], "label": [0]}).iloc[:0],
}


@pytest.mark.parametrize("case", list(FRAMES))
def test_parquet(case, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which is an extra")
    path = tmp_path / "a.parquet"
    FRAMES[case].to_parquet(path)
    whole, first, again = both(path, tmp_path, kind="parquet")
    assert whole == first
    assert whole == again


def test_damaged_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which is an extra")
    path = tmp_path / "a.parquet"
    FRAMES["plain"].to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    for kind, text in both(path, tmp_path, kind="parquet"):
        assert kind is ValueError
        assert "cannot read the table" in text
        assert "a.parquet" in text
