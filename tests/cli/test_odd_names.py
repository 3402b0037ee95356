"""Names with control characters and bytes that are not UTF-8 are accepted and printed safely."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from noiseproof.terminal import file_text

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
needs_bytes = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


def control(text):
    return [letter for letter in text if ord(letter) < 32 and letter != "\n"]


@pytest.mark.parametrize(
    ("header", "spec", "ends"),
    [
        (f"a,{ESCAPE}b,label", 'csv(path="{path}", label="x")', 2),
        (f"a,{ESCAPE}id,label", 'csv(path="{path}")', 0),
        (f"a,b,{ESCAPE}label", 'csv(path="{path}")', 2),
        ("a,b,label", f'csv(path="{{path}}", features="{ESCAPE}")', 2),
    ],
)
@pytest.mark.filterwarnings("default")
def test_column_names_are_printed_without_control_characters(shell, tmp_path, header, spec, ends):
    path = tmp_path / "rows.csv"
    path.write_text(header + "\n1,x,u\n2,y,v\n3,z,u\n")
    code, out, err = shell("train", "--data", spec.format(path=path), "--epochs", 1, "--out", tmp_path / "r")
    assert code == ends, err
    assert control(out + err) == []
    assert not ends or err.count("\n") == 1


@pytest.mark.filterwarnings("default")
def test_class_names_are_printed_without_control_characters(shell, tmp_path, photos):
    (photos / "cat").rename(photos / f"{ESCAPE}cat")
    (photos / "empty\x1b[2J").mkdir()
    options = ["--data", f'folder(path="{photos}")', "--epochs", 1, "--model", "mlp(hidden=4)", "--quiet"]
    code, out, err = shell("train", *options, "--out", tmp_path / "run")
    assert code == 0, err
    assert "is not a class" in err
    for verb in (["labels", "find", tmp_path / "run"], ["report", tmp_path / "run"]):
        code, more, errors = shell(*verb)
        assert code == 0, errors
        out, err = out + more, err + errors
    assert control(out + err) == []


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    random = np.random.default_rng(0)
    for name, level in {"cat": 60, "dog": 190}.items():
        (folder / name).mkdir(parents=True)
        for number in range(8):
            pixels = np.clip(level + 20 * random.normal(size=(6, 6, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


@needs_bytes
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_file_names_of_any_bytes(shell, tmp_path, photos, kind):
    names = [b"caf\xe9.png", b"a\nb\x1b[31m.png", b"=1+1\xff.png"]
    for number, name in enumerate(names):
        os.rename(photos / f"cat/{number}.png", os.path.join(os.fsencode(photos / "cat"), name))
    spec, run = f'folder(path="{photos}")', tmp_path / "run"
    code, _, err = shell("train", "--data", spec, "--epochs", 2, "--model", "mlp(hidden=4)", "--out", run)
    assert code == 0, err
    expected = {file_text(os.fsdecode(os.path.join(os.fsencode(photos / "cat"), name))) for name in names}
    assert any(name.endswith(r"caf\xe9.png") for name in expected)
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    for verb in (["labels", "find", run, "--all"], ["predict", run, spec, "--split", "train"]):
        out = tmp_path / f"{verb[0]}.{kind}"
        code, shown, err = shell(*verb, "--out", out)
        assert code == 0, err
        assert control(shown + err) == []
        assert expected <= set(read(out)["file"]), verb
    code, shown, err = shell("labels", "find", run, "--json")
    assert code == 0, err


@needs_bytes
def test_class_names_of_any_bytes(shell, tmp_path, photos):
    os.rename(photos / "cat", os.path.join(os.fsencode(photos), b"caf\xe9"))
    spec, run = f'folder(path="{photos}")', tmp_path / "run"
    code, _, err = shell("train", "--data", spec, "--epochs", 2, "--model", "mlp(hidden=4)", "--out", run)
    assert code == 0, err
    for verb in (
        ["labels", "find", run, "--all", "--out", tmp_path / "found.csv"],
        ["labels", "find", run, "--json"],
        ["predict", run, spec, "--split", "train", "-o", tmp_path / "said.csv"],
        ["predict", run, spec, "--split", "train", "-o", tmp_path / "said.parquet"],
        ["report", run],
    ):
        code, _, err = shell(*verb)
        assert code == 0, (verb, err)
    assert set(pd.read_csv(tmp_path / "found.csv")["given_name"]) == {r"caf\xe9", "dog"}
    assert r"probability_caf\xe9" in pd.read_parquet(tmp_path / "said.parquet").columns
