"""What the stages of all recipes share."""

import pytest

from noiseproof.recipes import estimate_and_correct, relabel_and_retrain
from noiseproof.train import Config


@pytest.mark.parametrize("recipe", [relabel_and_retrain, estimate_and_correct])
def test_a_folder_may_have_any_name(recipe, tmp_path):
    place = tmp_path / 'my "new" run\'s é'
    found = recipe(Config(model="mlp(hidden=8)", epochs=1, device="cpu", out=str(place)))
    assert found.second.finished
    assert found.second.folder == place / "second"
