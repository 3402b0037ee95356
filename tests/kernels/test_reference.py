"""The two passes against plain torch expressions, in one block and in many."""

import pytest
import torch

from noiseproof.kernels import differentiable, margin_rows, reference, statistics_rows


@pytest.fixture(params=[1 << 19, 40], ids=["one block", "many blocks"])
def block_sizes(request, monkeypatch):
    monkeypatch.setattr(reference.row_blocks, "__defaults__", (request.param,))


def batch(dtype=torch.float64, masked=False):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(33, 7, dtype=torch.float64, generator=generator).to(dtype)
    target = torch.randint(6, (33,), generator=generator)
    if masked:
        logits[::2, 6] = -torch.inf
    return logits, target


def ce(margin):
    return -torch.nn.functional.logsigmoid(margin), torch.sigmoid(-margin)


@pytest.mark.usefixtures("block_sizes")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_margin_rows(dtype, masked):
    logits, target = batch(dtype, masked)
    leaf = logits.clone().requires_grad_()
    found = margin_rows(leaf, target, ce)
    (gradient,) = torch.autograd.grad(found.sum(), leaf)
    wide = logits.double().requires_grad_()
    wanted = torch.nn.functional.cross_entropy(wide, target, reduction="none")
    (slope,) = torch.autograd.grad(wanted.sum(), wide)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]
    torch.testing.assert_close(
        found.double(), wanted, rtol=min(tolerance, 1e-4), atol=1e-6 if dtype != torch.float64 else 1e-12
    )
    torch.testing.assert_close(gradient.double(), slope, rtol=tolerance, atol=tolerance * 1e-2)
    assert gradient.dtype == dtype


@pytest.mark.usefixtures("block_sizes")
@pytest.mark.parametrize("masked", [False, True])
def test_statistics_rows(masked):
    logits, target = batch(masked=masked)
    leaf = logits.clone().requires_grad_()
    plain = logits.clone().requires_grad_()
    found, wanted = statistics_rows(leaf, target), differentiable.statistics(plain, target)
    upstream = [torch.randn(33, dtype=torch.float64) for _ in range(5)]
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)
    (gradient,) = torch.autograd.grad(found, leaf, upstream)
    (slope,) = torch.autograd.grad(wanted, plain, upstream)
    torch.testing.assert_close(gradient, slope)


def test_blocks_cover_all_rows_once():
    for rows in (0, 1, 5, 33):
        logits = torch.zeros(rows, 7)
        seen = [i for s in reference.row_blocks(logits, 40) for i in range(rows)[s]]
        assert seen == list(range(rows))


def test_memory_beyond_the_logits_is_the_gradient():
    from torch.profiler import ProfilerActivity, profile

    logits = torch.randn(512, 8000, requires_grad=True)
    target = torch.randint(8000, (512,))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        margin_rows(logits, target, ce, None, True).backward()
    live = peak = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    assert peak <= 1.2 * logits.numel() * 4
