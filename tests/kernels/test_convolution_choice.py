"""Which convolutions the kernels take."""

import torch

from noiseproof.devices.convolution import should_use_kernel
from noiseproof.kernels import apply


def test_what_does_not_suit(device, monkeypatch):
    image, weight = (
        torch.zeros(size, device=device, dtype=torch.float16).contiguous(memory_format=torch.channels_last)
        for size in ((2, 16, 4, 4), (16, 16, 3, 3))
    )
    usual = (1, 1), (1, 1)
    assert should_use_kernel(image, weight, *usual)
    assert not should_use_kernel(image, weight, (3, 3), (1, 1))
    assert not should_use_kernel(image, weight, (1, 2), (1, 1))
    assert not should_use_kernel(image.double(), weight, *usual)
    assert not should_use_kernel(torch.cat([image, image], 1), weight, *usual)
    assert not should_use_kernel(image, weight, (1, 1), (0, 0))
    assert not should_use_kernel(image, weight, (1, 1), "same")
    assert not should_use_kernel(image, weight.float(), *usual)
    assert not should_use_kernel(image.contiguous(), weight, *usual)
    assert not should_use_kernel(image[:0], weight, *usual)
    assert not should_use_kernel(image, torch.zeros(24, 16, 3, 3).to(weight), *usual)
    assert not should_use_kernel(image, torch.zeros(16, 16, 1, 1).to(weight), *usual)
    wide = torch.zeros(64, 64, 3, 3).to(weight)
    assert should_use_kernel(
        torch.zeros(4, 64, 64, 64).to(image, memory_format=torch.channels_last), wide, *usual
    )
    assert not should_use_kernel(
        torch.zeros(5, 64, 64, 64).to(image, memory_format=torch.channels_last), wide, *usual
    )
    monkeypatch.setattr(apply, "enabled", False)
    assert not should_use_kernel(image, weight, *usual)
