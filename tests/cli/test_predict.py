import csv
import importlib.util
import json

import numpy as np
import pytest
from PIL import Image

from noiseproof.cli import predict as predict_module
from noiseproof.data import load
from noiseproof.train import Config, Run, fit

PAYLOADS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "plain", "=cmd|' /C calc'!A0", "\r=1+1", 'q"o,te']


@pytest.fixture(scope="module")
def run(points, tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "run"
    settings = {"model": "mlp(hidden=8)", "epochs": 3, "validation": 0.2, "device": "cpu"}
    return fit(Config(data=points, out=str(place), **settings))


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("which", ["final", "best"])
def test_file_matches_run_predict(shell, run, points, tmp_path, which):
    out = tmp_path / "labels.csv"
    options = ["--best"] if which == "best" else []
    code, said, _ = shell("predict", run.folder, points, "-o", out, *options)
    assert (code, said) == (0, f"wrote 30 predictions to {out}\n")
    found, expected = rows(out), run.predict(points, which=which)
    names = list(run.class_names)
    assert list(found[0]) == ["index", "predicted_label", *(f"probability_{name}" for name in names)]
    assert [int(row["index"]) for row in found] == load(points, split="test").index.tolist()
    assert [row["predicted_label"] for row in found] == [names[i] for i in expected.argmax(1)]
    numbers = [[float(row[f"probability_{name}"]) for name in names] for row in found]
    np.testing.assert_allclose(numbers, expected.numpy(), rtol=1e-5)


def test_without_out_the_file_is_in_the_run(shell, run, points):
    out = run.folder / "predictions.csv"
    assert shell("predict", run.folder, points)[:2] == (0, f"wrote 30 predictions to {out}\n")
    assert len(rows(out)) == 30
    out.unlink()


def test_final_and_best_networks_differ(run, points):
    """Otherwise the test above could not distinguish --best from the last epoch."""
    result = run.result
    assert result["selected"]["epoch"] != result["epochs"] or pytest.fail("choose other settings")
    assert not np.array_equal(run.predict(points), run.predict(points, which="best"))


def test_other_split(shell, run, points, tmp_path):
    out = tmp_path / "labels.csv"
    assert shell("predict", run.folder, points, "-o", out, "--split", "train")[0] == 0
    assert len(rows(out)) == 90


def test_source_without_a_test_split_is_predicted_completely(shell, run, points, tmp_path):
    data = load(points)
    lines = ["a,b,c,d,label"]
    lines += [
        f"{','.join(map(str, x))},{y}" for x, y in zip(data.inputs.tolist(), data.label.tolist(), strict=True)
    ]
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    source, out = f'csv(path="{tmp_path / "new.csv"}")', tmp_path / "labels.csv"
    assert shell("predict", run.folder, source, "-o", out)[0] == 0
    assert len(rows(out)) == 90
    code, _, err = shell("predict", run.folder, source, "-o", out, "--split", "test")
    assert code == 2
    assert "has no test split" in err


def test_spreadsheet_formulas_are_neutralised(shell, points, tmp_path):
    data = load(points)
    names = {}
    for start in range(0, len(PAYLOADS), 3):
        part = PAYLOADS[start : start + 3]
        named = type(data)(data.inputs, data.label, class_names=part, name="evil")
        settings = {"model": "mlp(hidden=8)", "epochs": 12, "lr": 0.1, "device": "cpu", "test": "none"}
        place, out = tmp_path / f"run{start}", tmp_path / f"{start}.csv"
        fit(Config(out=str(place), **settings), data=named)
        assert shell("predict", place, points, "-o", out)[0] == 0
        found = rows(out)
        names |= dict(zip(part, list(found[0])[2:], strict=True))
        shown = {row["predicted_label"] for row in found}
        assert len(shown) == 3
        for cell in [*shown, *found[0]]:
            assert not cell.lstrip().startswith(("=", "+", "-", "@"))
            assert not {"\t", "\r", "\n"} & set(cell)
    assert names["plain"] == "probability_plain"
    assert names['q"o,te'] == 'probability_q"o,te'


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="needs pyarrow")
def test_parquet(shell, run, points, tmp_path):
    import pandas as pd

    assert shell("predict", run.folder, points, "-o", tmp_path / "labels.parquet")[0] == 0
    found = pd.read_parquet(tmp_path / "labels.parquet")
    np.testing.assert_array_equal(found.filter(like="probability_").to_numpy(), run.predict(points).numpy())


def test_parquet_without_pyarrow_is_reported_in_one_line(shell, run, points, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, err = shell("predict", run.folder, points, "-o", tmp_path / "labels.parquet")
    assert (code, err.count("\n")) == (2, 1)
    assert "Parquet needs pyarrow" in err


def test_errors_are_reported_in_one_line(shell, run, points, tmp_path):
    wide = tmp_path / "wide.npz"
    np.savez(wide, x_train=np.zeros((2, 5)), y_train=[0, 1], x_test=np.zeros((2, 5)), y_test=[0, 1])
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "config.json").write_text(Config().to_json())
    (unfinished / "manifest.json").write_text(json.dumps({"data": {"class_names": [], "sample_shape": [4]}}))
    out = tmp_path / "labels.csv"
    cases = [
        ([run.folder, f'arrays(path="{wide}")', "-o", out], "shape (5,), the run was trained on (4,)"),
        ([run.folder, "digitz", "-o", out], "unknown source 'digitz', did you mean 'digits'?"),
        ([tmp_path / "nowhere", points, "-o", out], "nowhere is not a run folder"),
        ([run.folder, points, "-o", tmp_path / "labels.xls"], "use one of .csv, .parquet"),
        ([run.folder, points, "-o", out, "--split", "half"], "split='half' is unknown"),
        ([unfinished, points, "-o", out], "it is unfinished"),
    ]
    for words, part in cases:
        code, said, err = shell("predict", *words)
        assert (code, said, err.count("\n")) == (2, "", 1), err
        assert part in err
        assert not out.exists()


def test_best_needs_validation(shell, points, tmp_path):
    fit(Config(data=points, model="mlp(hidden=8)", epochs=1, device="cpu", out=str(tmp_path / "a")))
    code, _, err = shell("predict", tmp_path / "a", points, "-o", tmp_path / "labels.csv", "--best")
    assert code == 2
    assert "it had no validation data" in err


def test_predict_does_not_modify_the_run(run, shell, points, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in run.folder.rglob("*")}
    assert shell("predict", run.folder, points, "-o", tmp_path / "labels.csv")[0] == 0
    assert {path: path.stat().st_mtime_ns for path in run.folder.rglob("*")} == before
    assert Run(run.folder).finished
    assert predict_module.FORMATS == (".csv", ".parquet")


def test_unlabelled_images_are_predicted_with_file_names(shell, tmp_path):
    random = np.random.default_rng(0)
    for name in ("train/a/1", "train/a/2", "train/b/1", "train/b/2", "new/x", "new/=y"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (8, 8, 3), np.uint8)).save(tmp_path / f"{name}.png")
    place, out = tmp_path.as_posix(), tmp_path / "labels.csv"
    fit(Config(data=f'folder(path="{place}/train")', epochs=1, out=f"{place}/run", device="cpu"))
    code, _, err = shell("predict", tmp_path / "run", f'folder(path="{place}/new")', "-o", out)
    assert code == 0, err
    found = rows(out)
    assert [row["file"] for row in found] == [f"{place}/new/=y.png", f"{place}/new/x.png"]
    assert {row["predicted_label"] for row in found} <= {"a", "b"}


@pytest.mark.filterwarnings("default:values read as missing:UserWarning")
def test_columns_of_another_kind_than_in_training_are_reported(shell, tmp_path):
    table = "size,town,label\n" + "".join(f"{n * n}.5,{'AB'[n % 2]},{'xy'[n % 2]}\n" for n in range(20))
    (tmp_path / "train.csv").write_text(table)
    (tmp_path / "new.csv").write_text(table.replace(".5", " cm"))
    data = f'csv(path="{tmp_path}/train.csv")'
    run = fit(Config(data=data, epochs=1, device="cpu", out=str(tmp_path / "run")))
    out = tmp_path / "labels.csv"
    code, _, err = shell("predict", run.folder, f'csv(path="{tmp_path}/new.csv")', "-o", out)
    assert code == 0
    assert "warning: values read as missing: columns 'size' (a number in training, now '0 cm')" in err
    assert len(rows(out)) == 20
