"""Rows of any scale are learned, or warned of."""

import warnings

import pytest

from noiseproof.data import LabelledData
from noiseproof.train import fit
from noiseproof.train.scale import warn_of_scale


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
