"""Suspects of an image folder have a column with their files."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from PIL import Image

from noiseproof.cli.labels import with_files
from noiseproof.labels import find
from noiseproof.train import Run


@pytest.fixture
def photos(tmp_path):
    """Dark and bright squares; three bright ones lie among the dark."""
    random = np.random.default_rng(0)
    for kind, level in (("bright", 200), ("dark", 40)):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for number in range(30):
            value = 200 if kind == "dark" and number < 3 else level
            pixels = np.clip(random.normal(value, 8, (8, 8)), 0, 255).astype("u1")
            Image.fromarray(pixels).save(tmp_path / "photos" / kind / f"{number:02}.png")
    return tmp_path / "photos"


def test_suspects_have_a_file_column(shell, photos, tmp_path):
    place = tmp_path / "run"
    words = ["--data", f"folder(path='{photos}')", "--test", "none", "--epochs", 30, "--batch-size", 10]
    code, _, err = shell(
        "train", *words, "--loss", "gce(q=0.7)", "--device", "cpu", "--out", place, "--quiet"
    )
    assert code == 0, err
    found = with_files(find(Run(place)), place)
    assert [Path(file).parent.name for file in found["file"]] == ["bright"] * 30 + ["dark"] * 30
    assert all(Path(file).is_file() for file in found["file"])
    code, out, err = shell("labels", "find", place, "--out", tmp_path / "suspects.csv", "--json")
    assert code == 0, err
    worst = json.loads(out)["worst"]
    assert {Path(row["file"]).relative_to(photos).as_posix() for row in worst} >= {
        "dark/00.png",
        "dark/01.png",
        "dark/02.png",
    }
    table = pandas.read_csv(tmp_path / "suspects.csv")
    assert list(table["file"])[: len(worst)] == [row["file"] for row in worst]


def test_missing_photos_leave_the_table_unchanged(shell, photos, tmp_path):
    words = ["--data", f"folder(path='{photos}')", "--test", "none", "--epochs", 2, "--device", "cpu"]
    code, _, err = shell("train", *words, "--out", tmp_path / "run", "--quiet")
    assert code == 0, err
    photos.rename(tmp_path / "elsewhere")
    assert "file" not in with_files(find(Run(tmp_path / "run")), tmp_path / "run")
