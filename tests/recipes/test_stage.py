"""Stages of recipes: folders and resuming."""

import numpy as np
import pandas as pd
import pytest

from noiseproof.recipes import estimate_and_correct, relabel_and_retrain
from noiseproof.train import Config, RunExistsError


@pytest.mark.parametrize("recipe", [relabel_and_retrain, estimate_and_correct])
def test_folder_name_may_contain_quotes_and_spaces(recipe, tmp_path):
    place = tmp_path / 'my "new" run\'s é'
    found = recipe(Config(model="mlp(hidden=8)", epochs=1, device="cpu", out=str(place)))
    assert found.second.finished
    assert found.second.folder == place / "second"


@pytest.mark.parametrize("recipe", [relabel_and_retrain, estimate_and_correct])
def test_finished_stages_on_other_labels_raise_an_error(recipe, tmp_path):
    place = tmp_path / "rows.csv"
    rows = pd.DataFrame({"a": np.arange(60) % 3, "b": np.arange(60) / 60, "label": np.arange(60) % 3})
    rows.to_csv(place, index=False)
    config = Config(
        data=f'csv(path="{place}")', model="mlp(hidden=8)", epochs=1, device="cpu", out=str(tmp_path / "out")
    )
    before = recipe(config)
    assert recipe(config).first.folder == before.first.folder
    rows.assign(label=np.arange(60)[::-1] % 3).to_csv(place, index=False)
    with pytest.raises(RunExistsError, match="first was started with other data"):
        recipe(config)
