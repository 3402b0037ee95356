"""Errors for inputs of a wrong shape."""

import pytest
import torch

from noiseproof import models


@pytest.mark.parametrize("spec", ["resnet20", "resnet18", "googlenet", "vgg19_bn", "cnn8"])
def test_wrong_number_of_channels_is_refused(spec):
    model = models.get(spec, num_classes=10, seed=0).eval()
    with pytest.raises(ValueError, match=r"\(2, 1, 32, 32\).*expected \(N, 3, H, W\)"):
        model(torch.zeros(2, 1, 32, 32))


def test_rows_of_a_table_are_refused_by_a_network_of_images():
    with pytest.raises(ValueError, match=r"takes images .* shape \(2, 5\): for rows of 5 numbers use mlp"):
        models.get("cnn8", num_classes=3, in_channels=5, seed=0)(torch.zeros(2, 5))


def test_missing_batch_dimension_is_refused():
    with pytest.raises(ValueError, match=r"x\.unsqueeze\(0\)"):
        models.get("resnet20", num_classes=10, seed=0)(torch.zeros(3, 32, 32))


def test_small_images_are_refused_by_vgg():
    model = models.get("vgg19_bn", num_classes=10, seed=0).eval()
    with pytest.raises(ValueError, match=r"16 x 32 are too small.*32 x 32"):
        model(torch.zeros(1, 3, 16, 32))
    with pytest.raises(ValueError, match="too small"):
        models.get("vgg19_bn", num_classes=10, image_size=28)


def test_other_image_size_is_refused_by_a_flattening_network():
    model = models.get("cnn4", num_classes=10, in_channels=1, seed=0).eval()
    with pytest.raises(
        ValueError, match=r"32 x 32 do not fit .* 28 x 28: build it with image_size=\(32, 32\)"
    ):
        model(torch.zeros(1, 1, 32, 32))
    with pytest.raises(ValueError, match=r"\(2, 28\) is too small"):
        models.get("cnn4", num_classes=10, image_size=(2, 28))


@pytest.mark.parametrize(("spec", "size"), [("cnn4", (4, 9)), ("cnn8", (17, 8)), ("mlp", (3, 5))])
def test_image_size_need_not_be_square_or_even(spec, size):
    model = models.get(spec, num_classes=4, in_channels=2, image_size=size, seed=0).eval()
    assert model(torch.zeros(2, 2, *size)).shape == (2, 4)


SHAPES = [(2, 3, 33, 47), (2, 3, 16, 16), (1, 3, 1, 1), (0, 3, 32, 32)]


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        pytest.param(
            spec, shape, marks=[] if spec == "resnet20" or shape == SHAPES[0] else [pytest.mark.slow]
        )
        for spec in ("resnet20", 'resnet18(stem="imagenet")', "googlenet")
        for shape in SHAPES
    ],
)
def test_pooling_networks_accept_any_size(spec, shape):
    model = models.get(spec, num_classes=10, seed=0).eval()
    assert model(torch.zeros(shape)).shape == (shape[0], 10)


def test_mlp_checks_the_number_of_values():
    model = models.get("mlp", num_classes=3, in_channels=4, seed=0)
    assert model(torch.zeros(5, 4)).shape == (5, 3)
    for shape in [(5, 3), (4,)]:
        with pytest.raises(ValueError, match="4 values per sample"):
            model(torch.zeros(shape))
