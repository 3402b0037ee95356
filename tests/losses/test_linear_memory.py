"""Memory of ``loss.linear``, which never stores all logits: largest tensor and peak."""

import pytest
import torch
from torch.nn.functional import cross_entropy, linear
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from noiseproof import losses

ROWS, WIDTH, CLASSES = 1024, 64, 32768
CALLS = {
    "mae": lambda h, w, y: losses.get("mae").linear(h, w, y),
    "10*nce + agce": lambda h, w, y: losses.get("10*nce + agce").linear(h, w, y),
    "none": lambda h, w, y: losses.get("gce", reduction="none").linear(h, w, y).mean(),
    "margin": lambda h, w, y: losses.linear_margin(h, w, y).sigmoid().mean(),
}


class LargestTensor(TorchDispatchMode):
    """Records the largest number of elements that a result of an operation stores."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        results = function(*arguments, **(keywords or {}))
        for tensor in tree_leaves(results):
            if isinstance(tensor, torch.Tensor) and tensor.device.type != "meta":
                stored = tensor.untyped_storage().nbytes() // tensor.element_size()
                self.elements = max(self.elements, stored)
        return results


def problem(rows=ROWS):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(rows, WIDTH, generator=generator).requires_grad_()
    weight = (0.1 * torch.randn(CLASSES, WIDTH, generator=generator)).requires_grad_()
    return hidden, weight, torch.randint(CLASSES, (rows,), generator=generator)


def peak_bytes(call):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        call()
    live = peak = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_no_tensor_is_larger_than_a_quarter_of_the_logits(name):
    hidden, weight, target = problem()
    with LargestTensor() as largest:
        CALLS[name](hidden, weight, target).backward()
    assert largest.elements <= ROWS * (CLASSES / 4 + 1)  # slabs are of whole classes


@pytest.fixture(scope="module")
def stored_bytes():
    hidden, weight, target = problem()
    return peak_bytes(lambda: cross_entropy(hidden @ weight.t(), target).backward())


@pytest.fixture(scope="module")
def scratch_bytes():
    """Memory that torch needs to multiply with the weight: on some processors a copy of it."""
    hidden, weight = (one.detach() for one in problem(256)[:2])
    return peak_bytes(lambda: linear(hidden, weight)) - 4 * 256 * CLASSES


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_peak_memory_without_gradients_is_bounded(name, stored_bytes, scratch_bytes):
    hidden, weight, target = problem()
    peak = peak_bytes(lambda: CALLS[name](hidden, weight, target).backward()) - scratch_bytes
    gradients = 4 * (hidden.numel() + weight.numel())
    assert peak - gradients <= 0.30 * 4 * ROWS * CLASSES
    assert peak - gradients <= 0.15 * (stored_bytes - scratch_bytes - gradients)


def test_first_backward_does_not_copy_gradients():
    """A copy would need as much memory as the weight."""
    hidden, weight, target = problem(64)
    value = losses.get("gce").linear(hidden, weight, target)
    assert peak_bytes(lambda: (0.5 * value).backward()) < 0.1 * 4 * weight.numel()
