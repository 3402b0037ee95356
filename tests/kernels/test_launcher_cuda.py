"""On a GPU: losses launched from C++ are those launched from Python, capturable and without waiting."""

import copy
import threading
import warnings

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels import build, path
from noiseproof.kernels.launcher import library

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.skipif(build.compiler() is None, reason="NO C++ COMPILER: the launcher cannot be built"),
]
NODE = "LaunchedLoss"
SPECS = [
    *("ce", "gce", "sl", "mae", "tce", "aul", "imae", "nal_fixed", "nce", "mse", "gls", "nfl", "cr(ce)"),
    *("cr(gce)", 'gr(normalize="batch")', "10*nce + 0.1*agce(a=1.8, q=3)", "unit_max(gce)"),
]


@pytest.fixture(scope="module", autouse=True)
def launcher():
    if build.problem(build.LAUNCHER) is not None:
        build.build(build.LAUNCHER)
    assert library.load() is not None


def batch(rows=64, classes=10, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = (3 * torch.randn(rows, classes, generator=generator)).to(dtype)
    target = torch.randint(classes, (rows,), generator=generator)
    target[3] = -100
    return logits.cuda(), target.cuda()


def step(loss, logits, target, launched=True):
    """A leaf of its own: a graph kept alive would tie later steps to its stream."""
    leaf = logits.detach().requires_grad_()
    value = loss(leaf, target)
    assert not launched or NODE in value.grad_fn.name()
    (gradient,) = torch.autograd.grad(value, leaf)
    return value.detach(), gradient


def learned(spec, logits, target):
    loss = losses.get(spec).cuda()
    step(loss, logits, target, launched=False)
    return loss


def in_double(loss, logits, target):
    """The same as expressions of torch."""
    before, path.enabled = path.enabled, False
    try:
        return step(loss, logits.double(), target, launched=False)
    finally:
        path.enabled = before


def assert_close(found, wanted, tolerance=1e-5):
    torch.testing.assert_close(found[0].double(), wanted[0], rtol=tolerance, atol=tolerance)
    error = (found[1].double() - wanted[1]).abs().max() / wanted[1].abs().max()
    assert float(error) < tolerance


@pytest.mark.parametrize("shape", [(64, 10), (33, 1000), (5, 40_000)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_numbers(spec, dtype, shape):
    loss = learned(spec, *batch(*shape, dtype))
    logits, target = batch(*shape, dtype, seed=1)
    tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
    assert_close(step(loss, logits, target), in_double(loss, logits, target), tolerance)


@pytest.mark.parametrize("spec", ["gce", "nfl", "cr(gce)"])
def test_on_another_stream_and_in_a_graph(spec):
    logits, target = batch()
    loss = learned(spec, logits, target)
    expected, slope = step(loss, logits, target)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        value, gradient = step(loss, logits, target)
    stream.synchronize()
    assert torch.equal(gradient, slope)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value, gradient = step(loss, logits, target)
    value.zero_()
    gradient.zero_()
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(value, expected)
    assert torch.equal(gradient, slope)


@pytest.mark.parametrize("spec", ["gce", "peer(ce)"])
def test_no_host_synchronisation(spec):
    logits, target = batch()
    loss = learned(spec, logits, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode("error")
    try:
        step(loss, logits, target)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_from_a_fresh_thread():
    logits, target = batch()
    loss, found = learned("gce", logits, target), []
    _, expected = step(loss, logits, target)
    thread = threading.Thread(target=lambda: found.append(step(loss, logits, target, launched=False)[1]))
    thread.start()
    thread.join()
    torch.testing.assert_close(found[0], expected)


HOLDING = ["peer(ce)", "peer(gce, alpha=0.5, seed=3)", "ce", "gce"]


def holding(name, classes=10):
    """A peer loss, or cr of another loss and a given prior."""
    prior = torch.linspace(0.5, 1.5, classes) / classes
    return (losses.get(name) if "peer" in name else losses.CR(name, beta=0.7, prior=prior)).cuda()


@pytest.mark.parametrize("shape", [(64, 10), (33, 1000)], ids=str)
@pytest.mark.parametrize("name", HOLDING)
def test_training_steps_of_losses_that_hold_a_tensor(name, shape):
    ours, theirs = holding(name, shape[1]), holding(name, shape[1])
    for seed in range(4):
        logits, target = batch(*shape, seed=seed)
        found = step(ours, logits, target, launched=seed > 0)
        assert_close(found, in_double(theirs, logits, target))
    for buffer, wanted in zip(ours.buffers(), theirs.buffers(), strict=True):
        assert torch.equal(buffer, wanted)


def test_a_graph_counts_the_batches_of_the_peer_loss():
    logits, target = batch()
    loss = learned("peer(ce)", logits, target)
    step(loss, logits, target)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value, gradient = step(loss, logits, target)
    assert int(loss.step) == 2
    for count in (3, 4):
        twin = copy.deepcopy(loss)
        expected, slope = step(twin, logits, target)
        graph.replay()
        torch.cuda.synchronize()
        assert int(loss.step) == int(twin.step) == count
        torch.testing.assert_close(value, expected)
        assert torch.equal(gradient, slope)


@pytest.mark.parametrize("name", HOLDING)
def test_second_derivatives_of_losses_that_hold_a_tensor(name):
    logits, target = batch()
    loss = holding(name)
    step(loss, logits, target, launched=False)
    twin, leaf = copy.deepcopy(loss), logits.detach().requires_grad_()
    value = loss(leaf, target)
    assert NODE in value.grad_fn.name()
    (found,) = torch.autograd.grad(value, leaf, create_graph=True)
    assert found.requires_grad
    torch.testing.assert_close(found, step(twin, logits, target)[1], rtol=1e-4, atol=1e-6)


def test_a_step_on_another_device_goes_its_old_way():
    logits, target = batch()
    ours, theirs = losses.get("peer(ce)"), holding("peer(ce)")
    for count in (1, 2):
        found = step(ours, logits, target, launched=False)
        wanted = in_double(theirs, logits, target)
        assert_close(found, wanted)
        assert int(ours.step) == int(theirs.step) == count
