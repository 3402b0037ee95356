"""Rows of any scale are learned, or give a warning."""

import warnings

import pytest

from noiseproof import methods
from noiseproof.data import LabelledData
from noiseproof.losses import MarginLoss
from noiseproof.train import Config, fit
from noiseproof.train.advice import warn_of_scale, warn_of_steps


def stretched(data, columns=()):
    """The same rows, one column a thousand times as large and far from 0."""
    inputs = data.inputs.clone()
    inputs[:, 2] = 1000 * inputs[:, 2] + 5000
    return LabelledData(inputs, data.label, columns=columns)


def test_a_large_column_is_named(blobs):
    with pytest.warns(
        UserWarning, match=r"value 2 of the samples has values around .*mlp\(standardize=True\)"
    ):
        warn_of_scale(stretched(blobs()), "mlp")
    with pytest.warns(UserWarning, match=r"column 'age' has values around [56]\.\d+e\+03"):
        warn_of_scale(stretched(blobs(), ["id", "width", "age", "height"]), "mlp(norm=True)")


@pytest.mark.parametrize("model", ["mlp(standardize=True)", "cnn4"])
def test_networks_that_see_to_it_are_left_alone(blobs, model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_scale(stretched(blobs()), model)
        warn_of_scale(blobs(), "mlp")


def test_standardized_rows_are_learned_whatever_their_scale(config, blobs):
    settings = config(epochs=20, model="mlp(hidden=8, standardize=True)")
    run = fit(settings, data=stretched(blobs()), test=stretched(blobs(seed=1)))
    assert run.result["final_test_accuracy"] > 0.95
    probability = run.predict(stretched(blobs(seed=1)))
    assert (probability.argmax(1) == blobs(seed=1).label).float().mean() > 0.95


NOT_NORMALISED = 'gr(beta=12.0, lam=0.5, normalize="none")'


def check_steps(**settings):
    made = Config(**settings)
    warn_of_steps(methods.get(made.method, loss=made.loss), made)


def test_a_loss_with_steps_far_larger_than_those_of_cross_entropy_is_warned_of():
    with pytest.warns(UserWarning, match="has emphases") as caught:
        check_steps(loss=NOT_NORMALISED, lr=0.1, model="resnet20")
    (words,) = [str(one.message) for one in caught]
    assert words == (
        f"{NOT_NORMALISED} has emphases up to 50.7, cross entropy up to 1: at lr=0.1 the network may learn"
        f' nothing; use normalize="batch", unit_max({NOT_NORMALISED}) or lr=0.01'
    )
    with pytest.warns(UserWarning, match=r"use unit_max\(10\*ce\) or lr=0.01$"):
        check_steps(loss="10*ce", lr=0.1)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "ce"},
        {"loss": "ce", "lr": 3.0},
        {"loss": "gr(beta=12.0, lam=0.5)"},
        {"loss": f"unit_max({NOT_NORMALISED})"},
        {"loss": NOT_NORMALISED, "lr": 0.01},
        {"loss": NOT_NORMALISED, "optimizer": "adam"},
        {"loss": NOT_NORMALISED, "clip": 5.0},
        {"loss": NOT_NORMALISED, "model": "mlp(norm=True)"},
        {"loss": 'imae(T=8.0, normalize="none")'},
        {"loss": "nce", "lr": 3.0},
        {"method": "elr", "lr": 3.0},
    ],
)
def test_other_steps_are_not_warned_of(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_steps(**{"lr": 0.1, "model": "resnet20", **settings})


def test_a_remedy_that_is_named_is_not_warned_of():
    """The remedies of the warning do not give a warning."""
    for loss, lr in (
        (NOT_NORMALISED, 0.01),
        (f"unit_max({NOT_NORMALISED})", 0.1),
        (NOT_NORMALISED.replace("none", "batch"), 0.1),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_steps(loss=loss, lr=lr)


def test_a_loss_of_the_users_without_a_largest_emphasis_trains():
    growing = MarginLoss.from_emphasis(lambda margin: margin**2, of="margin")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_steps(methods.LossMethod(growing), Config(lr=3.0))


def test_the_warning_comes_before_training(config, blobs):
    with pytest.warns(UserWarning, match=r"emphases up to 50\.7"):
        fit(config(loss=NOT_NORMALISED, lr=0.1, epochs=1), data=blobs())
