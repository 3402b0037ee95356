"""Folders of the wrong kind."""

import json
import os

import pytest

from noiseproof.cli.paths import check_overwrite


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A run and a comparison, with the files by which commands recognise them."""
    folder = tmp_path_factory.mktemp("places")
    for name in ("run", "both/ce", "both/mae"):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}")
    (folder / "both" / "table.json").write_text(json.dumps({"rows": []}))
    return folder


@pytest.mark.parametrize(
    "words", [["labels", "find", "{}"], ["predict", "{}", "digits", "-o", "a.csv"], ["report", "{}", "{}"]]
)
@pytest.mark.parametrize(("place", "number"), [("both", "2 runs"), ("", "one")])
def test_folder_of_runs_suggests_one_of_them(shell, folders, words, place, number):
    folder = folders / place
    code, out, err = shell(*(word.format(folder) for word in words))
    first = folder / ("ce" if place else "run")
    assert (code, out) == (2, "")
    assert (
        err
        == f"noiseproof: {folder} is not a run folder, it contains {number}: choose one, such as {first}\n"
    )


def test_comparison_into_a_run_folder_is_refused(shell, folders):
    before = sorted((folders / "run").iterdir())
    code, out, err = shell("compare", "--epochs", 1, "--seeds", 1, "--out", folders / "run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is a run folder, not a comparison: choose another --out" in err
    assert sorted((folders / "run").iterdir()) == before


def test_run_into_a_comparison_folder_is_refused(shell, folders):
    before = sorted((folders / "both").iterdir())
    code, out, err = shell("train", "--epochs", 1, "--out", folders / "both")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is a comparison folder, not a run: choose another --out" in err
    assert sorted((folders / "both").iterdir()) == before


def test_predict_suggests_the_source_of_a_path(shell, folders):
    code, _, err = shell("predict", folders / "run", "rows.csv", "-o", "a.csv")
    assert (code, err) == (
        2,
        "noiseproof: 'rows.csv' is a path, not a source: write csv(path=\"rows.csv\")\n",
    )


def test_missing_config_file_is_refused(shell, folders):
    for file in (folders, folders / "nowhere.json"):
        code, out, err = shell("train", "--config", file)
        assert (code, out) == (2, "")
        assert err == f"noiseproof: --config {file} is not a file: give the config.json of a run\n"


def test_unwritable_folder_is_reported_once(shell, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, out, err = shell("compare", "--epochs", 1, "--loss", "ce", "--loss", "mae", "--out", tmp_path / "a")
    assert (code, out) == (2, "")
    assert err.startswith(
        f"noiseproof: cannot write {tmp_path / 'a'}: Permission denied; make the folder writable"
    )
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [["compare", "--epochs", 1, "--out"], ["curve", "ce", "-o"]])
def test_file_in_place_of_a_folder_is_reported(shell, tmp_path, words):
    (tmp_path / "file").touch()
    code, _, err = shell(*words, tmp_path / "file" / "a.svg")
    assert (code, err.count("\n")) == (2, 1)
    assert f"cannot write {tmp_path / 'file' / 'a.svg'}: " in err
    assert "a part of the path is a file, choose another folder" in err


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_data_files_are_not_overwritten(shell, folders, tmp_path, name):
    file = tmp_path / name
    file.write_bytes(b"a,b,label\n1,2,cat\n")
    for words in (["labels", "find", folders / "run"], ["predict", folders / "run", "digits"]):
        code, out, err = shell(*words, "--out", file)
        assert (code, out) == (2, "")
        assert f"{file} exists and has no column" in err
        assert "choose another --out" in err
    assert file.read_bytes() == b"a,b,label\n1,2,cat\n"


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_own_tables_are_overwritten(tmp_path, name):
    file = tmp_path / name
    file.write_bytes(b"index,predicted_label\n0,cat\n")
    check_overwrite(file, "predicted_label")
    check_overwrite(tmp_path / "new.csv", "predicted_label")


@pytest.mark.parametrize("out", ["", " "])
@pytest.mark.parametrize(
    "words",
    [["train"], ["recipe", "relabel"], ["compare"], ["demo"], ["papers", "run", "gr.table3"]],
    ids=" ".join,
)
def test_empty_out_is_refused(shell, tmp_path, monkeypatch, words, out):
    monkeypatch.chdir(tmp_path)
    code, printed, err = shell(*words, "--out", out)
    assert (code, printed, err.count("\n")) == (2, "", 1)
    assert f"{out!r} is not a folder: give one such as runs/first, or leave it out" in err
    assert list(tmp_path.iterdir()) == []
