"""The two passes against plain torch expressions, in one block and in many."""

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels import Partials, RowFunction, Wanted, expressions, of_margin, torch_rows


@pytest.fixture(params=[1 << 19, 40], ids=["one block", "many blocks"])
def block_sizes(request, monkeypatch):
    monkeypatch.setattr(torch_rows.row_blocks, "__defaults__", (request.param,))


def batch(dtype=torch.float64, masked=False):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(33, 7, dtype=torch.float64, generator=generator).to(dtype)
    target = torch.randint(6, (33,), generator=generator)
    if masked:
        logits[::2, 6] = -torch.inf
    return logits, target


CE = of_margin(lambda margin, mass: (-torch.nn.functional.logsigmoid(margin), torch.sigmoid(-margin)))


@pytest.mark.usefixtures("block_sizes")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_margin_rows(dtype, masked):
    logits, target = batch(dtype, masked)
    leaf = logits.clone().requires_grad_()
    found = torch_rows.rows(CE, leaf, target, None)
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
    found, wanted = torch_rows.row_statistics(leaf, target), expressions.statistics(plain, target)
    upstream = [torch.randn(33, dtype=torch.float64) for _ in range(5)]
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)
    (gradient,) = torch.autograd.grad(found, leaf, upstream)
    (slope,) = torch.autograd.grad(wanted, plain, upstream)
    torch.testing.assert_close(gradient, slope)


WEIGHTED = RowFunction(
    lambda row, classes, mass: (
        (classes * row.logsumexp - row.sum_z) ** 2,
        Partials(
            logsumexp=2 * classes * (classes * row.logsumexp - row.sum_z),
            sum_z=-2 * (classes * row.logsumexp - row.sum_z),
        ),
    ),
    Wanted(sum_z=True),
    weighted=True,
)


@pytest.mark.usefixtures("block_sizes")
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("ignored", [False, True])
def test_a_weighted_sum_of_z(masked, ignored):
    logits, target = batch(masked=masked)
    weights = torch.tensor([0.0, 0.3, 0.1, 0.0, 0.2, 0.1, 0.3], dtype=torch.float64)
    keep = torch.arange(33) % 5 != 0 if ignored else None
    if ignored:
        logits[~keep] = torch.nan
    leaf, plain = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    found = torch_rows.rows(WEIGHTED, leaf, target, keep, weights)
    wanted = expressions.rows(WEIGHTED, plain, target, keep, weights)
    torch.testing.assert_close(found, wanted)
    upstream = torch.linspace(-1, 2, 33, dtype=torch.float64)
    gradient, slope = (torch.autograd.grad(v, z, upstream)[0] for v, z in ((found, leaf), (wanted, plain)))
    torch.testing.assert_close(gradient, slope)
    assert keep is None or not gradient[~keep].any()


@pytest.mark.parametrize("spec", ["gce", "nce", "mse", "10*nce + 0.1*agce(a=1.8, q=3)"])
@pytest.mark.parametrize("ignored", [False, True])
def test_values_and_gradient_without_a_graph(spec, ignored):
    logits, target = batch()
    keep = torch.arange(33) % 5 != 0 if ignored else None
    share = torch.linspace(0.1, 2, 33, dtype=torch.float64)
    function, leaf = losses.get(spec).row_function(7), logits.clone().requires_grad_()
    wanted = torch_rows.rows(function, leaf, target, keep)
    value, slope, gradient = torch_rows.values_and_gradient(function, logits, target, keep, None, share)
    torch.testing.assert_close(value, wanted)
    torch.testing.assert_close(gradient, torch.autograd.grad(wanted, leaf, share)[0])
    assert slope.shape == (33,)


def test_blocks_cover_all_rows_once():
    for rows in (0, 1, 5, 33):
        logits = torch.zeros(rows, 7)
        seen = [i for s in torch_rows.row_blocks(logits, 40) for i in range(rows)[s]]
        assert seen == list(range(rows))


def test_memory_beyond_the_logits_is_the_gradient():
    from torch.profiler import ProfilerActivity, profile

    logits = torch.randn(512, 8000, requires_grad=True)
    target = torch.randint(8000, (512,))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        torch_rows.rows(CE, logits, target, None, mean=True).backward()
    live = peak = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    assert peak <= 1.2 * logits.numel() * 4
