"""On a GPU: losses with tables are captured, and a step of theirs is three launches."""

import gc

import pytest
import torch
from row_batches import row_error, step

from noiseproof import losses

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
SPECS = [
    *(
        "gr(normalize='none')",
        "imae(normalize='none')",
        "gr(saturation=None, normalize='none')",
        "scale(gr(normalize='none'))",
        "shift(imae(normalize='none'))",
        "unit_max(gr(normalize='none'))",
        "gr(normalize='none') + 2*imae(normalize='none')",
    ),
    *('gr(normalize="batch")', 'imae(normalize="batch")'),
]
OURS = ["statistics_kernel", "gradient_kernel"]


def batch(rows, classes, dtype=torch.float32):
    generator = torch.Generator(device="cuda").manual_seed(classes)
    logits = 3 * torch.randn(rows, classes, device="cuda", generator=generator)
    target = torch.randint(classes, (rows,), device="cuda", generator=generator)
    target[1] = -100
    return logits.to(dtype), target


@pytest.mark.parametrize("spec", SPECS)
def test_two_launches(spec):
    from torch.profiler import ProfilerActivity, profile

    logits, target = batch(128, 10)
    leaf, loss = logits.requires_grad_(), losses.get(spec)
    torch.autograd.grad(loss(leaf, target), leaf)
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recorded:
        torch.autograd.grad(loss(leaf, target), leaf)
        torch.cuda.synchronize()
    names = [event.name for event in recorded.events() if "kernel" in event.name]
    assert sorted(name for name in names if name in OURS) == sorted(OURS)
    assert len(names) <= len(OURS) + 1, f"{names}: one more fills in the upstream 1"
    assert not [event.name for event in recorded.events() if "Memcpy" in event.name]


def captured(spec, static, target):
    """A graph whose loss nobody holds any more."""
    loss, side = losses.get(spec), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(loss, static, target)
    torch.cuda.current_stream().wait_stream(side)
    graph, leaf = torch.cuda.CUDAGraph(), static.detach().requires_grad_()
    with torch.cuda.graph(graph):  # capturing fails if the host waits
        value = loss(leaf, target)
        (gradient,) = torch.autograd.grad(value, leaf)
    return graph, value, gradient


@pytest.mark.parametrize("spec", SPECS)
def test_captured_after_one_step_and_replayed_without_the_loss(spec):
    logits, target = batch(64, 300)
    static = logits.clone()
    graph, value, gradient = captured(spec, static, target)
    gc.collect()
    rubbish = [torch.full((1 << 14,), torch.nan, device="cuda") for _ in range(64)]
    static.copy_(2 * logits)
    graph.replay()
    wanted, slope = step(losses.get(spec), 2 * logits.double(), target)
    torch.testing.assert_close(value.cpu().double(), wanted, rtol=1e-5, atol=1e-5)
    assert row_error(gradient.cpu(), slope) < 1e-5
    assert rubbish


@pytest.mark.parametrize(
    ("dtype", "rows", "classes"),
    [
        (torch.float32, 512, 10),
        (torch.float32, 64, 1000),
        (torch.float32, 8, 32003),
        (torch.bfloat16, 64, 1000),
        (torch.bfloat16, 8, 128256),
    ],
)
@pytest.mark.parametrize("spec", SPECS)
def test_every_row(spec, dtype, rows, classes):
    logits, target = batch(rows, classes, dtype)
    loss = losses.get(spec, reduction="none")
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits, target)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=5e-5)
    assert row_error(gradient, slope) < (1e-5 if dtype == torch.float32 else 1e-2)
