"""The name and folder of a run on data in memory."""

from pathlib import Path

import pytest

from noiseproof.data import LabelledData
from noiseproof.recipes import relabel_and_retrain
from noiseproof.report import write
from noiseproof.train import fit


@pytest.fixture
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("in_tmp_path")
def test_runs_on_other_data_have_another_folder(config, blobs):
    first = fit(config(out=None, epochs=1), data=blobs())
    second = fit(config(out=None, epochs=1), data=blobs(seed=1))
    again = fit(config(out=None, epochs=1), data=blobs())
    assert first.name.startswith("blobs-ce-seed0-")
    assert second.name.startswith("blobs-ce-seed0-")
    assert second.name != first.name
    assert again.name == f"{first.name}-2"
    assert again.result["train"] == first.result["train"]


@pytest.mark.usefixtures("in_tmp_path")
def test_unnamed_data_are_not_called_digits(config, blobs):
    run = fit(config(out=None, epochs=1), data=LabelledData(blobs().inputs, blobs().label))
    page = Path(write(run.folder)).read_text()
    assert "digits" not in page
    assert "the inputs cannot be loaded" in page


@pytest.mark.usefixtures("in_tmp_path")
def test_recipe_resumes_with_the_same_data(config, blobs):
    found = relabel_and_retrain(config(out="both", epochs=1), data=blobs(wrong=5))
    again = relabel_and_retrain(config(out="both", epochs=1), data=blobs(wrong=5))
    assert again.first.folder == found.first.folder == Path("both/first")
