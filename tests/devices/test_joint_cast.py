"""joint_cast equals separate casts."""

import pytest
import torch

from noiseproof.devices.network import joint_cast


def tensors():
    generator = torch.Generator().manual_seed(0)
    found = [torch.randn(shape, generator=generator) for shape in [(5,), (3, 4), (2, 3, 3, 3), (4, 2, 1, 1)]]
    found[1] = found[1].T
    found[2] = found[2].to(memory_format=torch.channels_last)
    return [values.requires_grad_() for values in found]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_joint_cast_matches_single_casts(dtype):
    together, alone = tensors(), tensors()
    copies = joint_cast(together, dtype), [values.to(dtype) for values in alone]
    for found, expected in zip(*copies, strict=True):
        assert torch.equal(found, expected)
        assert found.dtype is dtype
        assert found.stride() == expected.stride()
    for one in copies:
        sum((1 / 3 + k / 7) * values.square().sum() for k, values in enumerate(one)).backward()
    for found, expected in zip(together, alone, strict=True):
        assert torch.equal(found.grad, expected.grad)
        assert found.grad.dtype is torch.float32
        assert found.grad.stride() == found.stride()


def test_gradients_accumulate_and_unused_copies_have_none():
    first, second, third = (torch.ones(2, requires_grad=True) for _ in range(3))
    low, _, frozen = joint_cast([first, second, third.detach()], torch.bfloat16)
    (low * 3 + low * 4 + frozen).sum().backward()
    assert first.grad.tolist() == [7.0, 7.0]
    assert second.grad is None
    assert third.grad is None


def test_joint_cast_of_no_tensors():
    assert joint_cast([], torch.bfloat16) == ()
