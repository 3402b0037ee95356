import pytest

from noiseproof.train import Config, grid
from noiseproof.train.comparison.table import comparison_folder, row_name


def test_grid_lists_losses_then_methods_with_every_seed(monkeypatch):
    from noiseproof import methods

    monkeypatch.setitem(methods.METHODS, "one", lambda: None)
    runs = grid(Config(loss="mae", epochs=2), losses=["ce", "gce"], methods=["one"], seeds=[4, 1])
    found = [(run.loss, run.method, run.seed) for run in runs]
    assert found == [
        ("ce", None, 4),
        ("ce", None, 1),
        ("gce", None, 4),
        ("gce", None, 1),
        ("mae", "one", 4),
        ("mae", "one", 1),
    ]
    assert {run.epochs for run in runs} == {2}


def test_grid_repeats_a_config_for_every_seed():
    runs = grid(Config(loss="mae"), seeds=3)
    assert [(run.loss, run.seed) for run in runs] == [("mae", 0), ("mae", 1), ("mae", 2)]


def test_grid_removes_duplicates():
    assert len(grid(Config(), losses=["ce", "ce", "mae"], seeds=[1, 1])) == 2


@pytest.mark.parametrize("seeds", [0, []])
def test_grid_without_seeds_raises_an_error(seeds):
    with pytest.raises(ValueError, match="at least one seed"):
        grid(Config(), seeds=seeds)


def test_grid_refuses_a_string_instead_of_a_list():
    with pytest.raises(TypeError, match=r"losses='ce' is one string: write losses=\['ce'\]"):
        grid(Config(), losses="ce")
    with pytest.raises(TypeError, match="methods='elr' is one string"):
        grid(Config(), methods="elr")


def test_empty_out_raises_an_error():
    with pytest.raises(ValueError, match="out='' is not a folder"):
        grid(Config(), out="")


def test_runs_with_similar_names_have_different_folders():
    losses = ["sl(A=-4.0, beta=1.0)", "sl(A=-4.0, beta=1)", "ce + mae", "ce  +  mae"]
    folders = [run.out for run in grid(Config(), losses=losses, seeds=2, out="here")]
    assert len(set(folders)) == 8
    assert all(folder.startswith("here/digits-") for folder in folders)


def test_folder_of_a_run_depends_on_training_settings_only():
    def folders(**changes):
        return [run.out for run in grid(Config(**changes), losses=["ce"], seeds=1, out="a")]

    assert folders() == folders(device="cpu", checkpoint_seconds=1.0, out="b", loss="mae", seed=3)
    assert folders() != folders(lr=0.5)
    assert folders() != folders(epochs=3)


def test_folder_of_a_comparison_does_not_depend_on_losses_and_seeds():
    base = comparison_folder(Config())
    assert comparison_folder(Config(loss="mae", seed=3, out="x", device="cpu")) == base
    assert comparison_folder(Config(lr=0.5)) != base
    assert base.parent.as_posix() == "runs"


def test_row_name_contains_differing_settings():
    plain, slow = Config(loss="mae", seed=3), Config(loss="mae", lr=0.5, noise="pair(0.2)")
    assert row_name(plain, [plain]) == "mae"
    assert row_name(plain, [plain, Config()]) == "mae"
    assert row_name(slow, [plain, slow]) == "noise=pair(0.2), lr=0.5"
    assert row_name(plain, [plain, slow]) == "lr=0.01"
    assert row_name(Config(), [slow, Config()]) == "loss=ce, lr=0.01"
