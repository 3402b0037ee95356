"""Corrected data in the format of the original: only labels change, and a log lists every change."""

import gzip
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas
import pytest
from PIL import Image

from noiseproof import labels, train
from noiseproof.data import LabelledData, load
from noiseproof.labels import Decision, DecisionLog
from noiseproof.labels.corrected import log_of, read_log

ROWS = 30
DECISIONS = [
    Decision(3, "relabel", "b", reviewer="anna", time="2026-01-02T03:04:05.000000Z"),
    Decision(7, "drop", reviewer="ben"),
    Decision(0, "drop"),
    Decision(ROWS - 1, "drop"),
    Decision(5, "keep"),
]


def run_on(data, out, **settings):
    return train.fit(train.Config(data=data, model="mlp", epochs=1, out=str(out), **settings))


def lines_of(rows, end="\n", last=True):
    head = '\ufeffid,"size, cm",kind,note,empty'
    lines = [
        f'{row:03d},{row / 4:.2f},{"abc"[row % 3]},"says ""{row}""{end}and, more",' for row in range(rows)
    ]
    lines[4] = '004,1.00,"b",plain,'
    return (end.join([head, *lines]) + (end if last else "")).encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_csv_file_changes_only_in_relabelled_and_dropped_rows(tmp_path, end, last):
    place = tmp_path / "rows.csv"
    place.write_bytes(lines_of(ROWS, end, last))
    run = run_on(
        f'csv(path="{place}", label="kind", features="size, cm")'.replace('"size, cm"', '"id"'),
        tmp_path / "run",
    )
    done = labels.write_corrected(run, [*DECISIONS, Decision(4, "relabel", "c")])
    assert done.path == tmp_path / "rows.corrected.csv"
    before, after = (
        place.read_bytes().decode().split(f'",{end}'),
        done.path.read_bytes().decode().split(f'",{end}'),
    )
    assert after[0].startswith(before[0].split(end)[0])
    old, new = pandas.read_csv(place, dtype=str), pandas.read_csv(done.path, dtype=str)
    assert list(new.columns) == list(old.columns)
    expected = old.drop(index=[0, 7, ROWS - 1])
    expected.loc[3, "kind"], expected.loc[4, "kind"] = "b", "c"
    pandas.testing.assert_frame_equal(new, expected.reset_index(drop=True))
    assert b'004,1.00,"c",plain,' in done.path.read_bytes()
    assert place.read_bytes() == lines_of(ROWS, end, last)
    again, same = labels.revert(done.path)
    assert same
    assert again.read_bytes() == place.read_bytes()


def test_log_holds_row_before_after_reason_and_time(tmp_path):
    place = tmp_path / "rows.csv"
    place.write_bytes(lines_of(ROWS))
    run = run_on(f'csv(path="{place}", label="kind", features="id")', tmp_path / "run")
    DecisionLog(run.folder / "decisions.jsonl").append(DECISIONS)
    done = labels.write_corrected(run)
    entries = [json.loads(line) for line in done.log.read_text().splitlines()]
    assert entries[0]["original"] == str(place)
    change = next(entry for entry in entries[1:] if entry["row"] == 3)
    assert (change["before"], change["after"], change["by"]) == ("a", "b", "anna")
    assert (change["when"], change["why"]) == ("2026-01-02T03:04:05.000000Z", "relabel by anna")
    assert [entry["row"] for entry in entries[1:] if entry["after"] is None] == [0, 7, ROWS - 1]
    assert read_log(done.path) == log_of(done.data) == done.change_log


def test_training_on_corrected_data(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"rows_{split}.csv").write_bytes(lines_of(ROWS))
    run = run_on(f'csv(path="{tmp_path}/rows_{{split}}.csv", label="kind", features="id")', tmp_path / "run")
    done = labels.write_corrected(run, DECISIONS)
    again = run_on(done.data, tmp_path / "again", test=done.change_log.test)
    assert len(again.record) == ROWS - 3
    assert again.result["final_test_accuracy"] is not None


@pytest.mark.parametrize("noise", [None, "symmetric(0.4)"])
def test_decisions_and_rules_about_validation_samples_are_applied(tmp_path, noise):
    place = tmp_path / "rows.csv"
    place.write_bytes(lines_of(ROWS))
    source = f'csv(path="{place}", label="kind", features="id")'
    run = run_on(source, tmp_path / "run", noise=noise, validation=0.4)
    found = labels.find(run)
    kept, changed, *rest = run.outputs["validation_index"].tolist()
    DecisionLog(run.folder / "decisions.jsonl").append([Decision(kept, "keep"), Decision(changed, "drop")])
    labels.write_corrected(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weak evidence
        done = labels.write_corrected(run, drop=max(float(found.wrong_probability.max()) / 2, 1e-6))
    written = load(done.data)
    dropped = {change.row for change in done.changes if change.after is None}
    assert changed in dropped
    assert kept not in dropped
    assert len(written) == ROWS - len(dropped)
    given = {change.row: change.after for change in done.changes if change.after is not None}
    original = load(source)
    names = [given.get(row, original.class_names[original.label[row]]) for row in range(ROWS)]
    seen = dict(zip(found["index"], found.given_name, strict=True))
    assert names == [names[row] if row in dropped else seen[row] for row in range(ROWS)]
    assert set(given) <= set(seen) if noise else not given
    assert rest


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_and_numeric_labels(tmp_path, separator):
    place = tmp_path / ("rows.tsv" if separator == "\t" else "rows.csv")
    text = f"x{separator}label\n" + "".join(f"{row}{separator}0{row % 3}\n\n" for row in range(ROWS))
    place.write_text(text)
    kind = "csv"
    run = run_on(f'{kind}(path="{place}")', tmp_path / "run")
    done = labels.write_corrected(run, [Decision(1, "relabel", "2"), Decision(2, "drop")])
    expected = text.replace(f"1{separator}01\n", f"1{separator}02\n", 1).replace(f"2{separator}02\n\n", "", 1)
    kept = [line for line in done.path.read_text().split("\n") if line]
    assert kept == [line for line in expected.split("\n") if line]
    assert labels.revert(done.path)[0].read_text() == text


def test_compressed_table_stays_compressed(tmp_path):
    place = tmp_path / "rows.csv.gz"
    place.write_bytes(gzip.compress(lines_of(ROWS)))
    run = run_on(f'csv(path="{place}", label="kind", features="id")', tmp_path / "run")
    done = labels.write_corrected(run, DECISIONS)
    assert done.path.name == "rows.corrected.csv.gz"
    assert gzip.decompress(done.path.read_bytes()).startswith("\ufeffid".encode())
    assert gzip.decompress(labels.revert(done.path)[0].read_bytes()) == lines_of(ROWS)


@pytest.fixture
def frame():
    number = np.arange(ROWS)
    return pandas.DataFrame(
        {
            "x": number.astype(np.float32),
            "flag": number % 2 == 0,
            "when": pandas.Timestamp("2026-01-01") + pandas.to_timedelta(number, "D"),
            "kind": pandas.Categorical(np.array(["a", "b", "c"])[number % 3]),
            "small": number.astype(np.int8),
            "text": [None if row == 2 else f"t{row}" for row in number],
        }
    )


@pytest.mark.parametrize("kind", ["category", "str", "int8", "int64"])
def test_parquet_file_keeps_columns_types_and_metadata(tmp_path, frame, kind):
    parquet = pytest.importorskip("pyarrow.parquet")
    if kind.startswith("int"):
        frame["kind"] = frame.kind.cat.codes.astype(kind)
    elif kind == "str":
        frame["kind"] = frame.kind.astype(str)
    place = tmp_path / "rows.parquet"
    frame.to_parquet(place, compression="zstd", row_group_size=10)
    run = run_on(f'parquet(path="{place}", label="kind", features="x, small")', tmp_path / "run")
    new = "1" if kind.startswith("int") else "b"
    done = labels.write_corrected(run, [Decision(3, "relabel", new), *DECISIONS[1:]])
    old, found = parquet.read_table(place), parquet.read_table(done.path)
    assert found.schema.equals(old.schema)
    expected = old.to_pandas().drop(index=[0, 7, ROWS - 1])
    expected.loc[3, "kind"] = 1 if kind.startswith("int") else "b"
    pandas.testing.assert_frame_equal(found.to_pandas(), expected.reset_index(drop=True))
    assert parquet.read_metadata(done.path).row_group(0).column(0).compression == "ZSTD"
    again, _ = labels.revert(done.path)
    assert parquet.read_table(again).equals(old)


def test_npz_file_keeps_its_arrays(tmp_path):
    place = tmp_path / "all.npz"
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.random((ROWS, 4), np.float32),
        "y_train": (np.arange(ROWS) % 3).astype(np.uint8),
        "id_train": np.arange(ROWS),
        "x_test": rng.random((6, 4), np.float32),
        "y_test": np.arange(6, dtype=np.uint8) % 3,
        "about": np.array([1.5]),
    }
    np.savez(place, **arrays)
    run = run_on(f'npz(path="{place}")', tmp_path / "run")
    done = labels.write_corrected(run, [Decision(3, "relabel", 1), Decision(7, "drop")])
    with np.load(done.path) as found:
        assert list(found) == list(arrays)
        assert {name: found[name].dtype for name in found} == {
            name: one.dtype for name, one in arrays.items()
        }
        kept = np.delete(np.arange(ROWS), 7)
        label = arrays["y_train"].copy()
        label[3] = 1
        assert np.array_equal(found["y_train"], label[kept])
        assert np.array_equal(found["id_train"], kept)
        assert np.array_equal(found["x_train"], arrays["x_train"][kept])
        assert np.array_equal(found["x_test"], arrays["x_test"])
    with np.load(labels.revert(done.path)[0]) as back:
        assert all(np.array_equal(back[name], one) for name, one in arrays.items())
    assert len(load(done.data)) == ROWS - 1


@pytest.mark.parametrize("values", [[False, True], [0, 1]])
def test_npz_labels_keep_their_dtype(tmp_path, values):
    y = np.array(values)[np.arange(ROWS) % 2]
    np.savez(tmp_path / "all.npz", x_train=np.random.default_rng(0).random((ROWS, 4)), y_train=y)
    run = run_on(f'npz(path="{tmp_path}/all.npz")', tmp_path / "run")
    done = labels.write_corrected(run, [Decision(0, "relabel", 1), Decision(5, "drop")])
    with np.load(done.path) as found:
        assert found["y_train"].dtype == y.dtype
        assert found["y_train"].tolist() == np.delete(np.r_[y[1:2], y[1:]], 5).tolist()
    with np.load(labels.revert(done.path)[0]) as back:
        assert np.array_equal(back["y_train"], y)


def test_npy_labels_and_inputs_are_corrected(tmp_path):
    x, y = np.random.default_rng(0).random((ROWS, 4)), np.arange(ROWS) % 3
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    run = run_on(f'arrays(path="{tmp_path}/x.npy", labels="{tmp_path}/y.npy")', tmp_path / "run")
    done = labels.write_corrected(run, [Decision(3, "relabel", 1)])
    assert load(done.data).label.tolist() == [*y[:3], 1, *y[4:]]
    fewer = labels.write_corrected(run, [Decision(3, "drop")])
    assert len(load(fewer.data)) == ROWS - 1
    assert np.array_equal(np.load(tmp_path / "x.npy"), x)


@pytest.fixture
def photos(tmp_path):
    for number in range(9):
        name = ("cat", "dog", "owl")[number % 3]
        (tmp_path / "photos" / name / "deep").mkdir(parents=True, exist_ok=True)
        shade = Image.new("RGB", (8, 8), (number * 20, 0, 0))
        shade.save(tmp_path / "photos" / name / "deep" / f"{number // 3}.png")
    return tmp_path / "photos"


def test_image_folder_is_written_as_table_of_files(photos, tmp_path):
    run = run_on(f'folder(path="{photos}", size=8)', tmp_path / "run")
    done = labels.write_corrected(run, [Decision(0, "relabel", "owl"), Decision(4, "drop")])
    table = pandas.read_csv(done.path)
    assert list(table.columns) == ["file", "label"]
    assert table.iloc[0].tolist() == ["photos/cat/deep/0.png", "owl"]
    assert len(table) == 8
    again = load(done.data)
    assert again.class_names == ("cat", "dog", "owl")
    assert again.sample_shape == (3, 8, 8)
    back = pandas.read_csv(labels.revert(done.path)[0])
    assert len(back) == 9
    assert back.label[0] == "cat"


def test_image_folder_is_copied_with_corrected_labels(photos, tmp_path):
    run = run_on(f'folder(path="{photos}", size=8)', tmp_path / "run")
    done = labels.write_corrected(run, [Decision(0, "relabel", "owl"), Decision(4, "drop")], copy=True)
    files = sorted(file.relative_to(done.path).as_posix() for file in done.path.rglob("*.png"))
    assert len(files) == 8
    assert "owl/deep/0-0.png" in files
    assert "owl/deep/0.png" in files
    assert "cat/deep/0.png" not in files
    assert (done.path / "owl/deep/0-0.png").read_bytes() == (photos / "cat/deep/0.png").read_bytes()
    assert len(load(done.data)) == 8
    with pytest.raises(FileExistsError, match="remove it, or choose another"):
        labels.write_corrected(run, [Decision(1, "drop")], copy=True)
    with pytest.raises(FileExistsError, match=r"changes\.jsonl is the log of .*photos\.corrected: choose"):
        labels.write_corrected(run, [Decision(1, "drop")])
    with pytest.raises(ValueError, match="use the original"):
        labels.revert(done.path, tmp_path / "back")


def test_data_without_file_are_written_as_npz_with_noisy_labels(tmp_path):
    run = run_on("digits", tmp_path / "run", noise="symmetric(0.4)")
    wrong = run.record.flipped.nonzero().flatten().tolist()
    decisions = [Decision(row, "relabel", int(run.record.clean_label[row])) for row in wrong]
    done = labels.write_corrected(run, decisions[:-1])
    again = load(done.data)
    clean = load("digits").label
    assert int((again.label != clean).sum()) == 1
    assert len(load(done.data, split="test")) == len(load("digits", split="test"))
    assert "noise" in done.changes[-1].why


def test_run_on_data_in_memory_names_the_function_to_use(tmp_path):
    config = train.Config(model="mlp", epochs=1, out=str(tmp_path / "run"))
    run = train.fit(config, data=LabelledData([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"]))
    with pytest.raises(ValueError, match=r"data passed in Python: correct them with labels\.apply"):
        labels.write_corrected(run, relabel=0.5)


def test_corrected_file_that_was_edited_is_not_overwritten(tmp_path):
    place = tmp_path / "rows.csv"
    place.write_bytes(lines_of(ROWS))
    run = run_on(f'csv(path="{place}", label="kind", features="id")', tmp_path / "run")
    labels.write_corrected(run, DECISIONS)
    done = labels.write_corrected(run, DECISIONS[:1])
    done.path.write_bytes(done.path.read_bytes() + b"edited")
    os.utime(done.path, ns=(done.log.stat().st_mtime_ns + 1,) * 2)
    with pytest.raises(
        FileExistsError, match=r"rows\.corrected\.csv was changed after it was written: remove"
    ):
        labels.write_corrected(run, DECISIONS)
    assert done.path.read_bytes().endswith(b"edited")


def test_rules_skip_samples_with_decisions(tmp_path):
    run = run_on("digits", tmp_path / "run")
    found = labels.find(run)
    worst = found.nlargest(5, "wrong_probability")["index"].tolist()
    DecisionLog(run.folder / "decisions.jsonl").append(
        [Decision(worst[0], "keep"), Decision(worst[1], "unsure")]
    )
    low = float(found.wrong_probability.nlargest(5).min()) - 1e-9
    with pytest.warns(UserWarning, match=r"labels reach a threshold on weak evidence\. The record of"):
        done = labels.write_corrected(run, drop=max(low, 1e-6))
    dropped = {change.row for change in done.changes if change.after is None}
    assert set(worst[2:]) <= dropped
    assert not dropped & set(worst[:2])
    assert done.changes[0].why.startswith("rule: wrong with probability")


def test_rules_use_cross_fitting_of_the_data(tmp_path):
    place = tmp_path / "rows.csv"
    lines = [f"{row % 2 * 9 + row / 100},{'ab'[row % 2 if row != 3 else 0]}" for row in range(40)]
    place.write_text("x,label\n" + "\n".join(lines) + "\n")
    run = run_on(f'csv(path="{place}")', tmp_path / "run")
    done = labels.write_corrected(run, relabel=0.5, folds=2)
    assert [(change.row, change.before, change.after) for change in done.changes] == [(3, "a", "b")]
    found = labels.find(run.folder, folds=2)
    assert found[found.is_label_issue]["index"].tolist() == [3]


def test_original_and_other_files_are_not_overwritten(tmp_path):
    place = tmp_path / "rows.csv"
    place.write_bytes(lines_of(ROWS))
    run = run_on(f'csv(path="{place}", label="kind", features="id")', tmp_path / "run")
    with pytest.raises(ValueError, match="there are no decisions about the labels"):
        labels.write_corrected(run)
    with pytest.raises(ValueError, match="there is nothing to change"):
        labels.write_corrected(run, [Decision(5, "keep")])
    with pytest.raises(ValueError, match="is the original, which is never overwritten"):
        labels.write_corrected(run, DECISIONS, out=place)
    (tmp_path / "mine.csv").write_text("precious")
    with pytest.raises(FileExistsError, match="was not written by this command"):
        labels.write_corrected(run, DECISIONS, out=tmp_path / "mine.csv")
    with pytest.raises(ValueError, match="must have the suffix of the original"):
        labels.write_corrected(run, DECISIONS, out=tmp_path / "mine.parquet")
    first = labels.write_corrected(run, DECISIONS)
    second = labels.write_corrected(run, DECISIONS[:2])
    assert first.path == second.path
    place.write_bytes(lines_of(ROWS).replace(b"001,", b"999,"))
    with pytest.raises(ValueError, match=r"the data of \S+run have changed since the run"):
        labels.write_corrected(run, DECISIONS)
    left = [file.name for file in Path(tmp_path).iterdir() if file.name.startswith(".")]
    assert left == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_truth_values_keep_their_spelling_and_type(tmp_path, suffix):
    place, truth = tmp_path / f"rows{suffix}", [row % 2 == 0 for row in range(ROWS)]
    frame = pandas.DataFrame({"size": range(ROWS), "spam": truth})
    if suffix == ".csv":
        frame.replace({True: "TRUE", False: "FALSE"}).to_csv(place, index=False)
    else:
        frame.to_parquet(place)
    run = run_on(f'csv(path="{place}", label="spam", features="size")', tmp_path / "run")
    assert run.record.class_names == ("False", "True")
    done = labels.write_corrected(run, [Decision(3, "relabel", "True"), Decision(4, "relabel", "False")])
    read = {".csv": pandas.read_csv, ".parquet": pandas.read_parquet}[suffix](done.path)
    assert read["spam"].dtype == bool
    assert read["spam"].tolist() == [*truth[:3], True, False, *truth[5:]]
    if suffix == ".csv":
        assert {"3,TRUE", "4,FALSE"} <= set(done.path.read_text().split())
    again, same = labels.revert(done.path)
    assert same
    assert again.read_bytes() == place.read_bytes()
