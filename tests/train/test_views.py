"""Views: samples as inputs of the network."""

import pytest
import torch

from noiseproof.data import Batch, LabelledData, augmentation
from noiseproof.train import Config
from noiseproof.train.batches import Views


def test_training_views_depend_on_seed_epoch_and_index():
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8)
    index = torch.tensor([5, 3, 8, 1, 0, 2])
    views = Views(Config(augment="crop(padding=2) | flip", seed=9), (3, 8, 8))
    found = views.train(Batch(images, index, index), epoch=4)
    expected = augmentation("crop(padding=2) | flip")(images, seed=9, epoch=4, index=index)
    assert torch.equal(found, expected)
    assert not torch.equal(found, views.train(Batch(images, index, index), epoch=5))
    assert torch.equal(views.evaluation(images), images.float() / 255)


def test_vectors_are_converted_to_float_and_not_augmented():
    views = Views(Config(), (4,))
    rows = torch.arange(8).reshape(2, 4)
    assert torch.equal(views.evaluation(rows), rows.float())
    assert views.evaluation(rows.double()).dtype == torch.float32
    with pytest.raises(ValueError, match=r"augment='flip' is for images, samples have shape \(4,\)"):
        Views(Config(augment="flip"), (4,))


@pytest.mark.parametrize(
    ("shape", "augment", "expected"),
    [
        ((5,), None, {"in_channels": 5, "num_classes": 2}),
        ((6, 7), None, {"in_channels": 1, "image_size": (6, 7), "num_classes": 2}),
        ((3, 6, 6), "resize(size=4)", {"in_channels": 3, "image_size": (4, 4), "num_classes": 2}),
    ],
)
def test_model_shape_is_that_of_the_augmented_inputs(shape, augment, expected):
    data = LabelledData(torch.zeros(2, *shape), [0, 1])
    assert Views(Config(augment=augment), shape).model_shape(data) == expected
