"""Data in memory give a run its name and its folder."""

from pathlib import Path

import pytest

from noiseproof.data import LabelledData
from noiseproof.recipes import relabel_and_retrain
from noiseproof.report import write
from noiseproof.train import Config, Run, RunExistsError, fit
from noiseproof.train.out import naming_data


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("here")
def test_other_data_in_memory_have_a_folder_of_their_own(config, blobs):
    first = fit(config(out=None, epochs=1), data=blobs())
    second = fit(config(out=None, epochs=1), data=blobs(seed=1))
    assert first.folder != second.folder
    assert first.folder.parts[:2] == ("runs", first.name)
    assert first.name.startswith("blobs-ce-seed0-")
    assert Run(first.folder).settings["data"] == "blobs"
    with pytest.raises(RunExistsError, match=r"is finished: .* noiseproof\.train\.Run\('runs/blobs-ce-"):
        fit(config(out=None, epochs=1), data=blobs())


@pytest.mark.usefixtures("here")
def test_data_without_a_name_are_said_to_be_in_memory(config, blobs):
    data = LabelledData(blobs().inputs, blobs().label)
    run = fit(config(out=None, epochs=1), data=data)
    page = Path(write(run.folder)).read_text()
    assert "trained with ce on data in memory: 60 samples" in page
    assert "digits" not in page
    assert "the inputs are not at hand: pass data=..." in page


@pytest.mark.parametrize("source", ["digits", "npz(path='a.npz')"])
def test_a_source_that_was_loaded_by_hand_keeps_its_options(source, blobs):
    named = LabelledData(blobs().inputs, blobs().label, name=source.partition("(")[0])
    assert naming_data(Config(data=source, out="here"), named) == Config(data=source, out="here")


@pytest.mark.usefixtures("here")
def test_the_stages_of_a_recipe_share_a_folder(config, blobs):
    found = relabel_and_retrain(config(out=None, epochs=1), data=blobs(wrong=5))
    assert found.first.folder.parent == found.second.folder.parent
    assert found.first.folder.parent.name.startswith("blobs-ce-seed0-")
    again = relabel_and_retrain(config(out=None, epochs=1), data=blobs(wrong=5))
    assert again.first.folder == found.first.folder
