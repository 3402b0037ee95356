"""Published parameter counts; the small CNNs are counted by hand from their description."""

import pytest
import torch

from noiseproof import models


def parameters_of(spec, **task):
    with torch.device("meta"):
        return sum(p.numel() for p in models.get(spec, **task).parameters())


def conv(inputs, outputs, kernel=3):
    return inputs * outputs * kernel**2 + outputs + 2 * outputs  # weights, bias, batch norm


def dense(inputs, outputs):
    return inputs * outputs + outputs


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ("resnet20", 269_722),
        ("resnet32", 464_154),
        ("resnet44", 658_586),
        ("resnet56", 853_018),
        ("resnet18", 11_173_962),
        ("resnet34", 21_282_122),
        ("resnet50", 23_520_842),
        ("vgg19_bn", 20_040_522),
        ("googlenet", 6_166_250),
    ],
)
def test_common_cifar_networks_at_10_classes(spec, count):
    assert parameters_of(spec, num_classes=10) == count


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ('resnet18(stem="imagenet")', 11_689_512),
        ('resnet34(stem="imagenet")', 21_797_672),
        ('resnet50(stem="imagenet")', 25_557_032),
        ('vgg19_bn(hidden="4096,4096")', 143_678_248),
    ],
)
def test_imagenet_networks_at_1000_classes(spec, count):
    assert parameters_of(spec, num_classes=1000) == count


def test_projection_adds_two_convolutions_with_batch_norm():
    added = (16 * 32 + 2 * 32) + (32 * 64 + 2 * 64)
    assert parameters_of('resnet44(shortcut="projection")', num_classes=10) == 658_586 + added


def test_parameters_of_cnn4():
    by_hand = conv(1, 32) + conv(32, 64) + dense(64 * 7 * 7, 128) + 2 * 128 + dense(128, 10)
    assert by_hand == 422_090
    assert parameters_of("cnn4", num_classes=10, in_channels=1) == by_hand


def test_parameters_of_cnn8():
    convolutions = sum(
        conv(*pair) for pair in [(3, 64), (64, 64), (64, 128), (128, 128), (128, 196), (196, 196)]
    )
    by_hand = convolutions + dense(4 * 4 * 196, 256) + 2 * 256 + dense(256, 10)
    assert by_hand == 1_639_794
    assert parameters_of("cnn8", num_classes=10) == by_hand


def test_parameters_of_mlp():
    by_hand = dense(784, 256) + dense(256, 128) + dense(128, 10)
    assert parameters_of('mlp(hidden="256,128")', num_classes=10, in_channels=1, image_size=28) == by_hand


DEEPER = {"resnet32", "resnet44", "resnet56", "resnet34", "resnet50"}


@pytest.mark.parametrize(
    "spec",
    [pytest.param(spec, marks=[pytest.mark.slow] if spec in DEEPER else []) for spec in models.MODELS],
)
def test_dropout_adds_no_parameter_or_buffer(spec):
    with torch.device("meta"):
        plain, dropped = (models.get(spec, num_classes=10, dropout=share) for share in (0.0, 0.2))
    assert list(plain.state_dict()) == list(dropped.state_dict())
