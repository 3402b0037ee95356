"""Residual blocks compared with their definition."""

import torch

from noiseproof import models
from noiseproof.models.residual import BasicBlock, ZeroPad


def test_zero_pad_shortcut():
    x = torch.randn(2, 16, 7, 8, generator=torch.Generator().manual_seed(0))
    y = ZeroPad(16, 32, 2)(x)
    assert y.shape == (2, 32, 4, 4)
    assert torch.equal(y[:, 8:24], x[:, :, ::2, ::2])
    assert not y[:, :8].any()
    assert not y[:, 24:].any()


def test_shortcuts_only_where_the_shape_changes():
    kinds = [
        type(m.downsample).__name__
        for m in models.get("resnet20", num_classes=10).modules()
        if isinstance(m, BasicBlock)
    ]
    assert kinds == ["Identity"] * 3 + ["ZeroPad", "Identity", "Identity"] * 2


def test_block_with_zero_convolutions_is_the_identity():
    block = BasicBlock(4, 4, 1, "pad").eval()
    torch.nn.init.zeros_(block.conv2.weight)
    x = torch.rand(1, 4, 5, 5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(block(x), x)


def test_depth_is_6n_plus_2():
    for depth in (20, 32, 44, 56):
        modules = models.get(f"resnet{depth}", num_classes=10).modules()
        assert sum(isinstance(m, (torch.nn.Conv2d, torch.nn.Linear)) for m in modules) == depth


def test_output_size_of_stems():
    x = torch.zeros(1, 3, 32, 32)
    for stem, side in (("cifar", 32), ("imagenet", 8)):
        body = models.get(f"resnet18(stem={stem!r})", num_classes=10, seed=0).eval().body
        assert body[: list(dict(body.named_children())).index("layer1")](x).shape[-1] == side
