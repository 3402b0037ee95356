"""``loss.linear`` on a GPU: same results as on the CPU, no host synchronisation, CUDA graphs."""

import warnings

import pytest
import torch

from noiseproof import losses

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SPECS = ["ce", "mae", "gce", "nce", "gls", "nfl", "cr(ce)", "peer(ce)", "scale(mae)", 'gr(normalize="batch")']
SPECS += ["10*nce + 0.1*agce(a=1.8, q=3)", "cr(nce) + gls"]
CALLS = {spec: losses.get(spec).eval().linear for spec in SPECS}
CALLS["none"] = lambda *args, **options: losses.get("gce", reduction="none").linear(*args, **options).mean()
CALLS["margin"] = lambda *args, **options: losses.linear_margin(*args, **options).sigmoid().mean()


def batch(rows=96, width=32, classes=200):
    generator = torch.Generator().manual_seed(0)
    hidden, weight = (
        torch.randn(rows, width, generator=generator),
        torch.randn(classes, width, generator=generator),
    )
    target = torch.randint(classes, (rows,), generator=generator)
    target[5] = -100
    return hidden, weight / 3, torch.randn(classes, generator=generator), target


def step(call, hidden, weight, bias, target):
    inputs = [t.detach().requires_grad_() for t in (hidden, weight, bias)]
    value = call(inputs[0], inputs[1], target, bias=inputs[2], chunk=40)
    return value.detach(), *torch.autograd.grad(value, inputs)


@pytest.fixture(autouse=True)
def disable_tf32():
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def call_on_gpu(name):
    return losses.get(name).eval().cuda().linear if name in SPECS else CALLS[name]


def on_gpu(*tensors):
    return [tensor.cuda() for tensor in tensors]


@pytest.mark.parametrize("name", CALLS)
def test_cuda_matches_cpu(name):
    *tensors, target = batch()
    wanted = step(CALLS[name], *[t.double() for t in tensors], target)
    call = call_on_gpu(name)
    for dtype, tolerance in ((torch.float64, 1e-11), (torch.float32, 2e-5), (torch.bfloat16, 6e-2)):
        found = step(call, *on_gpu(*(t.to(dtype) for t in tensors), target))
        for one, other in zip(found, wanted, strict=True):
            error = (one.cpu().double() - other).norm() / other.norm().clamp_min(
                0.1
            )  # cr and peer: sums of 0
            assert float(error) < tolerance


@pytest.mark.parametrize("name", CALLS)
def test_no_host_synchronisation(name):
    tensors = on_gpu(*batch())
    call = call_on_gpu(name)
    step(call, *tensors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode("error")
    try:
        step(call, *tensors)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("name", CALLS)
def test_cuda_graph_capture(name):
    tensors = on_gpu(*batch())
    call = call_on_gpu(name)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step(call, *tensors)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    static = tensors[0].clone()
    with torch.cuda.graph(graph):
        found = step(call, static, *tensors[1:])
    static.copy_(2 * tensors[0])
    graph.replay()
    wanted = step(call, 2 * tensors[0], *tensors[1:])
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("chunk", [100, 25], ids=["summed in half", "summed in float32"])
def test_half_precision_gradients_are_as_accurate_as_stored_logits(dtype, chunk):
    hidden, weight, _, target = on_gpu(*batch(400))
    target.clamp_(min=0)
    half = [t.to(dtype) for t in (hidden, weight)]
    wide = [t.double().requires_grad_() for t in half]
    exact = torch.autograd.grad(losses.get("ce")(torch.nn.functional.linear(*wide), target), wide)
    inputs = [t.requires_grad_() for t in half]
    stored = torch.autograd.grad(losses.get("ce")(torch.nn.functional.linear(*inputs), target), inputs)
    found = torch.autograd.grad(losses.get("ce").linear(*inputs, target, chunk=chunk), inputs)
    for one, other, truth in zip(found, stored, exact, strict=True):
        assert (one.double() - truth).norm() <= 1.5 * (other.double() - truth).norm()


def test_autocast_sums_in_float32():
    hidden, weight, _, target = on_gpu(*batch(400))
    target.clamp_(min=0)
    leaf = weight.requires_grad_()
    wide = weight.detach().double().requires_grad_()
    (exact,) = torch.autograd.grad(losses.get("ce")(hidden.double() @ wide.t(), target), wide)
    errors = {}
    with torch.autocast("cuda", torch.bfloat16):
        fused = losses.get("ce").linear(hidden, leaf, target, chunk=25)
        stored = losses.get("ce")(torch.nn.functional.linear(hidden, leaf), target)
    for name, value in {"fused": fused, "stored": stored}.items():
        (gradient,) = torch.autograd.grad(value, leaf)
        assert gradient.dtype == torch.float32
        errors[name] = float((gradient.double() - exact).norm())
    assert errors["fused"] <= 1.1 * errors["stored"]
