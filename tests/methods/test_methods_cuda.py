"""Methods on a GPU: same results as on the CPU, no host synchronisation, capture in a CUDA graph."""

import warnings

import pytest
import torch
from test_methods_conformance import SPECS
from training_info import normal

from noiseproof.data import Batch
from noiseproof.methods import Mixed, Outputs, TrainingInfo, get

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SAMPLES, CLASSES, FEATURES, ROWS = 96, 10, 8, 32
EPOCHS = (1, 2, 60, 70, 71)


def prepared(spec, device):
    index = 5 + 3 * torch.arange(SAMPLES).flip(0)
    method = get(spec)
    label = (index % CLASSES).to(device)
    method.prepare(
        TrainingInfo(label, index.to(device), CLASSES, FEATURES, epochs=100, seed=0, validation=SAMPLES)
    )
    return method.to(device).train()


def inputs(method, epoch, device):
    """Random outputs of each network for a third of the samples."""
    index = 5 + 3 * torch.arange(epoch % 3, SAMPLES, 3)
    batch = Batch(torch.zeros(ROWS, 1), index % CLASSES, index).to(device)
    found = []
    for network in range(method.networks):
        seed = 10 * epoch + 1000 * network
        logits, unmixed = (3 * normal(ROWS, CLASSES, seed=seed + n).float().to(device) for n in range(2))
        features = normal(ROWS, FEATURES, seed=seed + 2).float().to(device) if method.needs_features else None
        partner = torch.arange(ROWS, device=device).roll(1)
        mix = Mixed(partner, 0.75, unmixed) if method.needs_unmixed else None
        found.append(Outputs(logits.requires_grad_(), features, mix))
    return tuple(found), batch


def step(method, outputs, batch, epoch):
    loss = method.loss(outputs, batch, epoch)
    return loss.detach(), *torch.autograd.grad(loss, [one.logits for one in outputs])


def assert_same_state(found, wanted):
    for name, value in wanted.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name].cpu(), value, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("spec", SPECS)
def test_cuda_matches_cpu(spec):
    methods = {device: prepared(spec, device) for device in ("cpu", "cuda")}
    for epoch in EPOCHS:
        wanted, found = (step(m, *inputs(m, epoch, device), epoch) for device, m in methods.items())
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)
    assert_same_state(methods["cuda"], methods["cpu"])


@pytest.mark.parametrize("spec", SPECS)
def test_no_host_synchronisation(spec):
    method = prepared(spec, "cuda")
    batches = {epoch: inputs(method, epoch, "cuda") for epoch in EPOCHS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode("error")
    try:
        for epoch, (outputs, batch) in batches.items():
            step(method, outputs, batch, epoch)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("epoch", [1, 70])
def test_cuda_graph_replay_matches_eager(spec, epoch):
    """A replayed step changes the memory as an eager step does."""
    method, eager = prepared(spec, "cuda"), prepared(spec, "cpu")
    outputs, batch = inputs(method, epoch, "cuda")
    start = {name: value.clone() for name, value in method.state_dict().items()}
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step(method, outputs, batch, epoch)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step(method, outputs, batch, epoch)
    method.load_state_dict(start)
    for _ in range(2):
        graph.replay()
        wanted = step(eager, *inputs(eager, epoch, "cpu"), epoch)
    for one, other in zip(captured, wanted, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)
    assert_same_state(method, eager)
