"""GoogLeNet V2 and Inception-ResNet-V2: sizes, names of layers, shapes."""

import pytest
import torch
from safetensors.torch import save_file

from noiseproof import models

PARAMETERS = {"googlenet_v2": 11_295_240, "inception_resnet_v2": 55_843_464}
"""Published, with 1,000 classes."""


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_published_number_of_parameters(name):
    with torch.device("meta"):
        model = models.get(name, num_classes=1000)
    assert sum(weight.numel() for weight in model.parameters()) == PARAMETERS[name]


@pytest.mark.parametrize("size", [(32, 32), (57, 40), (7, 9)])
def test_googlenet_v2_accepts_images_of_any_size(size):
    model = models.get("googlenet_v2", num_classes=3, in_channels=1, seed=0).eval()
    with torch.inference_mode():
        logits, features = models.forward_with_features(model, torch.rand(2, 1, *size))
    assert (logits.shape, features.shape) == ((2, 3), (2, 1024))
    assert logits.isfinite().all()


def test_halving_pool_matches_the_caffe_port():
    from noiseproof.models.inception_v2 import _halved

    images = torch.rand(2, 3, 114, 28)
    assert torch.equal(_halved(images), torch.nn.MaxPool2d(3, 2, ceil_mode=True)(images))
    assert _halved(images[..., :27]).shape[2:] == (57, 14)


def test_small_images_are_refused_by_inception_resnet_v2():
    with torch.device("meta"):
        model = models.get("inception_resnet_v2", num_classes=3)
    with pytest.raises(ValueError, match="needs at least 75 x 75"):
        model(torch.zeros(1, 3, 74, 80, device="meta"))


FOREIGN = {
    "googlenet_v2": ("last_linear", ["inception_4e_double_3x3_2_bn.running_var", "conv1_7x7_s2.bias"]),
    "inception_resnet_v2": ("classif", ["mixed_5b.branch3.1.conv.weight", "repeat_1.19.conv2d.bias",
                                        "mixed_7a.branch2.2.bn.weight", "block8.branch1.0.conv.weight"]),
}  # fmt: skip
"""What the head is called in the files in use, and some other names of them."""


@pytest.mark.parametrize(
    "name", ["googlenet_v2", pytest.param("inception_resnet_v2", marks=pytest.mark.slow)]
)
def test_published_parameter_names_are_loaded(name, tmp_path):
    head, some = FOREIGN[name]
    model = models.get(name, num_classes=2, seed=0)
    state = {
        key.replace("head.", f"{head}.").removeprefix("body."): value
        for key, value in model.state_dict().items()
    }
    assert {*some, f"{head}.weight"} <= set(state)
    save_file(state, tmp_path / "weights.safetensors")
    other = models.get(name, num_classes=2, seed=1)
    report = models.load_weights(other, tmp_path / "weights.safetensors")
    assert report.complete
    with torch.inference_mode():
        logits, features = models.forward_with_features(other.eval(), torch.rand(2, 3, 80, 75))
    assert logits.isfinite().all()
    assert features.shape == (2, model.head.in_features)
    assert all(torch.equal(value, other.state_dict()[key]) for key, value in model.state_dict().items())
