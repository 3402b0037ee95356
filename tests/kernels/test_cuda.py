"""On a GPU: the same numbers as on the CPU, no host synchronisation, capturable in a CUDA graph."""

import warnings

import pytest
import torch

from noiseproof import losses
from noiseproof.testing import check_loss

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SPECS = [
    *(
        "ce",
        "focal",
        "mae",
        "sl",
        "gce",
        "truncated_gce",
        "tce",
        "aul",
        "agce",
        "ael",
        "gr(normalize='none')",
        "imae(normalize='none')",
    ),
    *("nal_fixed", "nce", "nfl", "mse", "gls", "cr(ce)", "peer(ce)", "scale(mae)", "unit_max(gce)"),
    *('gr(normalize="batch")', "10*nce + 0.1*agce(a=1.8, q=3)"),
]


def batch(rows=64, classes=10):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(rows, classes, generator=generator)
    target = torch.randint(classes, (rows,), generator=generator)
    target[5] = -100
    logits[:5, 3] = -torch.inf
    target[:5] = 1
    return logits, target


def step(loss, logits, target):
    leaf = logits.detach().requires_grad_()
    value = loss(leaf, target)
    (gradient,) = torch.autograd.grad(value, leaf)
    return value.detach(), gradient


@pytest.mark.parametrize("spec", SPECS)
def test_same_as_on_the_cpu(spec):
    logits, target = batch()
    wanted, slope = step(losses.get(spec).eval(), logits.double(), target)
    loss = losses.get(spec).eval().cuda()
    for dtype, tolerance in ((torch.float64, 1e-11), (torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
        found, gradient = step(loss, logits.to(dtype).cuda(), target.cuda())
        torch.testing.assert_close(found.cpu().double(), wanted, rtol=tolerance, atol=tolerance)
        error = (gradient.cpu().double() - slope).abs().max() / slope.abs().max()
        assert float(error) < tolerance


@pytest.mark.parametrize("spec", SPECS)
def test_no_host_synchronisation(spec):
    logits, target = (t.cuda() for t in batch())
    loss = losses.get(spec).cuda()
    step(loss, logits, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode("error")
    try:
        step(loss, logits, target)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("spec", SPECS)
def test_captured_in_a_graph(spec):
    logits, target = (t.cuda() for t in batch())
    loss = losses.get(spec).eval().cuda()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step(loss, logits, target)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    static = logits.clone()
    with torch.cuda.graph(graph):
        value, gradient = step(loss, static, target)
    static.copy_(2 * logits)
    graph.replay()
    wanted, slope = step(loss, 2 * logits, target)
    torch.testing.assert_close(value, wanted)
    torch.testing.assert_close(gradient, slope)


@pytest.mark.parametrize("spec", SPECS)
def test_the_conformance_suite(spec):
    check_loss(spec, device="cuda")
