"""Warnings for inputs of a large scale and for losses with a large emphasis."""

import warnings

import pytest

from noiseproof import methods
from noiseproof.data import LabelledData
from noiseproof.losses import MarginLoss
from noiseproof.train import Config, fit
from noiseproof.train.advice import warn_of_scale, warn_of_steps


def with_large_column(data, columns=()):
    """The same rows with one column multiplied by 1000 and shifted by 5000."""
    inputs = data.inputs.clone()
    inputs[:, 2] = 1000 * inputs[:, 2] + 5000
    return LabelledData(inputs, data.label, columns=columns)


def test_warning_names_a_column_with_large_values(blobs):
    with pytest.warns(
        UserWarning, match=r"value 2 of the samples has values around .*mlp\(standardize=True\)"
    ):
        warn_of_scale(with_large_column(blobs()), "mlp")
    with pytest.warns(UserWarning, match=r"column 'age' has values around [56]\.\d+e\+03"):
        warn_of_scale(with_large_column(blobs(), ["id", "width", "age", "height"]), "mlp(norm=True)")


@pytest.mark.parametrize("model", ["mlp(standardize=True)", "cnn4"])
def test_no_warning_for_networks_that_normalize_inputs(blobs, model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_scale(with_large_column(blobs()), model)
        warn_of_scale(blobs(), "mlp")


def test_standardized_rows_of_large_scale_are_learned(config, blobs):
    settings = config(epochs=20, model="mlp(hidden=8, standardize=True)")
    run = fit(settings, data=with_large_column(blobs()), test=with_large_column(blobs(seed=1)))
    assert run.result["final_test_accuracy"] > 0.95
    probability = run.predict(with_large_column(blobs(seed=1)))
    assert (probability.argmax(1) == blobs(seed=1).label).float().mean() > 0.95


UNNORMALIZED = 'gr(beta=12.0, lam=0.5, normalize="none")'


def check_steps(**settings):
    made = Config(**settings)
    warn_of_steps(methods.get(made.method, loss=made.loss), made)


def test_warning_for_a_loss_with_large_emphasis():
    with pytest.warns(UserWarning, match="has emphases") as caught:
        check_steps(loss=UNNORMALIZED, lr=0.1, model="resnet20")
    (words,) = [str(one.message) for one in caught]
    assert words == (
        f"{UNNORMALIZED} has emphases up to 50.7, cross entropy up to 1: at lr=0.1 the network may learn"
        f' nothing; use normalize="batch", unit_max({UNNORMALIZED}) or lr=0.01'
    )
    with pytest.warns(UserWarning, match=r"use unit_max\(10\*ce\) or lr=0.01$"):
        check_steps(loss="10*ce", lr=0.1)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "ce"},
        {"loss": "ce", "lr": 3.0},
        {"loss": "gr(beta=12.0, lam=0.5)"},
        {"loss": f"unit_max({UNNORMALIZED})"},
        {"loss": UNNORMALIZED, "lr": 0.01},
        {"loss": UNNORMALIZED, "optimizer": "adam"},
        {"loss": UNNORMALIZED, "clip": 5.0},
        {"loss": UNNORMALIZED, "model": "mlp(norm=True)"},
        {"loss": 'imae(T=8.0, normalize="none")'},
        {"loss": "nce", "lr": 3.0},
        {"method": "elr", "lr": 3.0},
    ],
)
def test_no_warning_for_other_settings(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_steps(**{"lr": 0.1, "model": "resnet20", **settings})


def test_no_warning_for_suggested_settings():
    """The remedies of the warning do not give a warning."""
    for loss, lr in (
        (UNNORMALIZED, 0.01),
        (f"unit_max({UNNORMALIZED})", 0.1),
        (UNNORMALIZED.replace("none", "batch"), 0.1),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_steps(loss=loss, lr=lr)


def test_no_warning_for_a_loss_with_unbounded_emphasis():
    growing = MarginLoss.from_emphasis(lambda margin: margin**2, of="margin")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_steps(methods.LossMethod(growing), Config(lr=3.0))


def test_warning_is_given_before_training(config, blobs):
    with pytest.warns(UserWarning, match=r"emphases up to 50\.7"):
        fit(config(loss=UNNORMALIZED, lr=0.1, epochs=1), data=blobs())
