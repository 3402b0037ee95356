"""Files of suspects: complete, worst first, and safe to open in a spreadsheet or terminal."""

import csv
import importlib.util
import io
import unicodedata

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof import labels
from noiseproof.labels.export import neutral

TABLE = [[0.8, 0.2], [0.2, 0.8], [0.97, 0.03], [0.1, 0.9], [0.1, 0.9], [0.85, 0.15]]
LABEL = [0, 1, 1, 1, 1, 1]
PAYLOADS = [
    "=cmd|' /C calc'!A0",
    "=1+1",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    " =1+1",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\x00=1",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202e=exe",
    "\u2028=1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20SUM",
    'a"\n=1+1,"=2',
    "\x7f@x",
    '=HYPERLINK("http://x")',
]


def find(names):
    return labels.find(probabilities=TABLE, label=LABEL, class_names=names)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_cells_contain_neither_formulas_nor_control_characters(payload, tmp_path):
    labels.write(find([payload, payload + "2"]), tmp_path / "a.csv", everything=True)
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(text.splitlines()) == len(TABLE) + 1 == len(rows) + 1
    for row in rows:
        for name in (row["given_name"], row["predicted_name"]):
            assert name.lstrip()[0] not in "=+-@\uff1d\uff0b\uff0d\uff20"
            assert not [letter for letter in name if unicodedata.category(letter) in ("Cc", "Zl", "Zp")]
            assert "\u202e" not in name


@settings(deadline=None)
@given(st.text())
def test_neutral_is_idempotent(text):
    found = neutral(text)
    assert not found.lstrip().startswith(("=", "+", "-", "@"))
    assert neutral(found) == found
    assert found in (text, "'" + text) or any(
        unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cf") for c in text
    )


def test_suspects_are_written_worst_first_and_read_back(tmp_path):
    found = find(["cat", "dog"])
    assert labels.write(found, tmp_path / "a.csv") == 2
    back = pd.read_csv(tmp_path / "a.csv")
    assert back["index"].tolist() == [2, 5]
    assert back.given_name.tolist() == ["dog", "dog"]
    assert back.predicted_name.tolist() == ["cat", "cat"]
    assert back.label_score.to_numpy() == pytest.approx(found.label_score[[2, 5]].to_numpy())
    assert labels.write(found, tmp_path / "b.csv", everything=True) == 6


def test_unknown_suffix_raises_value_error_and_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv or \.parquet"):
        labels.write(find(["a", "b"]), tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_parent_folders_are_created_and_folders_are_not_overwritten(tmp_path):
    assert labels.write(find(["a", "b"]), tmp_path / "new" / "deep" / "A.CSV") == 2
    assert len(pd.read_csv(tmp_path / "new" / "deep" / "A.CSV")) == 2
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"folder\.csv': it is a folder, choose another name"):
        labels.write(find(["a", "b"]), tmp_path / "folder.csv")


def test_parquet_is_written_or_missing_pyarrow_raises_value_error(tmp_path):
    path = tmp_path / "a.parquet"
    if importlib.util.find_spec("pyarrow") is None:
        with pytest.raises(ValueError, match=r"pyarrow is missing, pip install 'noiseproof\[parquet\]'"):
            labels.write(find(["=a", "b"]), path)
        return
    assert labels.write(find(["=a", "b"]), path) == 2
    back = pd.read_parquet(path)
    assert back["index"].tolist() == [2, 5]
    assert back.predicted_name.tolist() == ["'=a", "'=a"]


def test_suspects_include_columns_of_the_original_table(tmp_path):
    rows = pd.DataFrame({"label": ["a", "b", "a"], "index": [7, 8, 9], "note": ["=1+1", "x", "y\nz"]})
    rows["number"], rows["size"] = ["007", "1", "010"], ["-1.50", "-2+3", "1e3"]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    found = pd.DataFrame(
        {
            "index": [0, 1, 2],
            "is_label_issue": [True, False, True],
            "label_score": [0.4, 0.9, 0.1],
            "given_label": [0, 1, 0],
            "predicted_label": [1, 1, 1],
        }
    )
    found.attrs["class_names"] = ["a", "b"]
    labels.write(found, tmp_path / "suspects.csv", data=f'csv(path="{tmp_path}/rows.csv")')
    table = pd.read_csv(tmp_path / "suspects.csv")
    assert table["index"].tolist() == [2, 0]
    assert table["original_index"].tolist() == [9, 7]
    assert table["note"].tolist() == ["y z", "'=1+1"]
    assert table["label"].tolist() == ["a", "a"]
    as_written = pd.read_csv(tmp_path / "suspects.csv", dtype=str)
    assert as_written["number"].tolist() == ["010", "007"]
    assert as_written["size"].tolist() == ["1e3", "-1.50"]
    labels.write(
        found, tmp_path / "suspects.parquet", data=f'csv(path="{tmp_path}/rows.csv")', everything=True
    )
    whole = pd.read_parquet(tmp_path / "suspects.parquet")
    assert whole["note"].tolist() == ["y\nz", "=1+1", "x"]
    (tmp_path / "rows.csv").write_text("label,note\na,b\n")
    with pytest.warns(UserWarning, match="has no row 2: it has changed since"):
        labels.write(found, tmp_path / "suspects.csv", data=f'csv(path="{tmp_path}/rows.csv")')
