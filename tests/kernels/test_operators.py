"""torch.compile keeps one graph with the kernels in it; second derivatives and transforms go around them."""

import pytest
import torch

from noiseproof import losses

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
SPECS = ["gce", "nce", "mse", "gr(normalize='none')", "10*nce + 0.1*agce(a=1.8, q=3)", "ce + mae", "cr(ce)"]


def batch(device, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(5, 6, generator=generator)
    return logits.to(device, dtype), torch.tensor([0, 1, -100, 3, 4], device=device)


def step(function, logits, target):
    leaf = logits.detach().clone().requires_grad_()
    value = function(leaf, target)
    return value.detach(), torch.autograd.grad(value, leaf)[0]


@pytest.mark.parametrize("spec", SPECS)
def test_compiled_in_one_graph_with_the_kernels(spec, device):
    logits, target = batch(device)
    loss = losses.get(spec)
    names = []

    def backend(graph, inputs):
        names.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    torch.compiler.reset()
    torch.compile(loss, fullgraph=True, backend=backend)(logits, target)
    assert sum("row_statistics" in name for name in names) == 1, "the statistics are taken once"
    torch.compiler.reset()
    found = step(torch.compile(loss, fullgraph=True, backend="aot_eager"), logits, target)
    wanted = step(loss, logits, target)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", SPECS)
def test_double_backward(spec, device):
    logits, target = batch(device)

    def curvature(logits):
        leaf = logits.clone().requires_grad_()
        (slope,) = torch.autograd.grad(losses.get(spec)(leaf, target), leaf, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), leaf)[0]

    torch.testing.assert_close(curvature(logits), curvature(logits.double()).float(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("spec", SPECS)
def test_transforms(spec, device):
    logits, target = batch(device)
    loss = losses.get(spec)
    found = torch.func.grad(loss)(logits, target)
    torch.testing.assert_close(found, step(loss, logits, target)[1], rtol=1e-5, atol=1e-6)


def test_operators_keep_the_rules_of_torch(device):
    logits, target = batch(device)
    keep = target >= 0
    weights = torch.empty(0, device=device)
    flags = (True, True, True, True, True)
    arguments = (logits.requires_grad_(), target.clamp_min(0), keep, weights, *flags)
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(torch.ops.noiseproof.row_statistics.default, arguments, test_utils=checks)
