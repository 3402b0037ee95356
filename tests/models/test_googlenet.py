"""Receptive fields of the branches of an inception block."""

import pytest
import torch

from noiseproof.models.googlenet import STAGES, Inception


@pytest.mark.parametrize(("channels", "side"), [(slice(0, 2), 1), (slice(2, 5), 3), (slice(5, 9), 5)])
def test_receptive_fields(channels, side):
    block = Inception(8, 2, 8, 3, 8, 4, 5).eval()
    for parameter in block.parameters():
        torch.nn.init.constant_(parameter, 0.1)  # all positive: no ReLU hides a pixel
    x = torch.ones(1, 8, 9, 9, requires_grad=True)
    y = block(x)
    assert y.shape == (1, 2 + 3 + 4 + 5, 9, 9)
    y[0, channels, 4, 4].sum().backward()
    seen = x.grad[0].abs().sum(0) > 0
    inside = slice(4 - side // 2, 5 + side // 2)
    assert seen[inside, inside].all()
    assert int(seen.sum()) == side**2


def test_widths_of_the_paper():
    outputs = [[one + three + five + pool for one, _, three, _, five, pool in stage] for stage in STAGES]
    assert outputs == [[256, 480], [512, 512, 512, 528, 832], [832, 1024]]
