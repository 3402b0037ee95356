"""On a GPU: sizes only a GPU has, accuracy against float64, torch.compile, and launches counted."""

import pytest
import torch

from noiseproof import kernels, losses

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

ACCURATE = [
    *(
        "ce",
        "focal",
        "mae",
        "rce",
        "sl",
        "sce",
        "gce",
        "truncated_gce",
        "tce",
        "aul",
        "agce",
        "ael",
        "gr(normalize='none')",
    ),
    *(
        "imae(normalize='none')",
        "nal_fixed",
        "nce",
        "mse",
        "gls",
        "scale(mae)",
        "shift(gce)",
        "unit_max(gce)",
    ),
    *("10*nce + 0.1*agce(a=1.8, q=3)", 'gr(normalize="batch")', 'imae(normalize="batch")'),
    *("nfl", "cr(ce)", "cr(mae)", "cr(gce)", "peer(ce)", "peer(mae)", "peer(mse)", "10*nce + nfl"),
]
EVERY_CLASS = ["nfl", "cr(gce)", "cr(nce)", "peer(ce)", "10*nce + nfl"]
"""Losses that sum over all classes, or compare rows: torch calls."""
COMPARING = [*EVERY_CLASS, "cr(ce)", 'gr(normalize="batch")']
"""Losses that look at more than one label or row."""
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 1e-2, torch.float16: 1e-2}


def batch(rows, classes, dtype=torch.float32, spread=3.0):
    generator = torch.Generator(device="cuda").manual_seed(classes)
    logits = (spread * torch.randn(rows, classes, device="cuda", generator=generator)).to(dtype)
    target = torch.randint(classes - 1, (rows,), device="cuda", generator=generator)
    target[1] = -100
    return logits, target


def step(loss, logits, target):
    leaf = logits.detach().requires_grad_()
    value = loss(leaf, target)
    return value.detach(), torch.autograd.grad(value, leaf)[0]


def row_error(found, wanted, smallest=1e-30):
    """Largest difference of every row over its largest entry."""
    size = wanted.abs().amax(1).clamp_min(smallest)
    return float(((found.double() - wanted).abs().amax(1) / size).max())


@pytest.mark.parametrize(
    ("dtype", "rows", "classes"),
    [
        (torch.float32, 512, 10),
        (torch.bfloat16, 256, 1000),
        (torch.float16, 256, 100),
        (torch.float32, 33, 32003),
        (torch.bfloat16, 16, 262144),
    ],
)
@pytest.mark.parametrize("spec", ACCURATE)
def test_gradient_of_every_row(spec, dtype, rows, classes):
    logits, target = batch(rows, classes, dtype)
    if dtype == torch.bfloat16:
        logits[:, 7] = -torch.inf
        target[target == 7] = 6
    loss = losses.get(spec, reduction="sum").eval().cuda()
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits, target)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-4)
    smallest = 1e-3 if dtype == torch.float16 else 1e-30
    if "cr(" in spec or "peer(" in spec:  # both parts may cancel, which leaves rounding alone
        smallest = max(smallest, 1e-2 * float(slope.abs().max()))
    if spec == "peer(mse)":  # the sums of squares cancel in every row: relative to one part
        part = losses.get("mse", reduction="sum").cuda()
        smallest = max(smallest, float(step(part, logits.double(), target)[1].abs().max()))
    assert row_error(gradient, slope, smallest) < TOLERANCE[dtype]


@pytest.mark.parametrize("spec", ["ce", "mae", "nce", "gls", "mse", *COMPARING])
@pytest.mark.parametrize("level", [-1e4, 1e4])
def test_extreme_levels(spec, level):
    logits, target = batch(64, 100)
    logits, loss = logits + level, losses.get(spec).eval().cuda()
    _, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits, target)
    assert found.isfinite()
    cancels = "cr(" in spec or "peer(" in spec
    smallest = 1e-2 * float(slope.abs().max()) if cancels else 1e-30
    assert row_error(gradient, slope, smallest) < 1e-5


def test_more_than_two_billion_logits():
    rows, classes = 17000, 131072
    logits = torch.randn(rows, classes, device="cuda", dtype=torch.bfloat16)
    target = torch.randint(classes, (rows,), device="cuda")
    found = step(losses.get("gce"), logits, target)[1]
    wanted = step(losses.get("gce", reduction="sum"), logits[-2:].double(), target[-2:])[1] / rows
    assert row_error(found[-2:], wanted) < 1e-2
    assert found.isfinite().all()


def test_strided_logits():
    wide, target = batch(64, 300)
    _, wanted = step(losses.get("nce"), wide[:, ::3].contiguous(), target % 100)
    for logits in (wide[:, ::3], wide[:, ::3].t().contiguous().t()):
        torch.testing.assert_close(step(losses.get("nce"), logits, target % 100)[1], wanted)


@pytest.mark.filterwarnings("ignore")  # inductor's advice about TF32
@pytest.mark.parametrize(
    "spec", ["gce", "nce", "gr(normalize='none')", "10*nce + 0.1*agce(a=1.8, q=3)", *COMPARING]
)
def test_model_and_loss_compile_to_one_graph(spec):
    torch.manual_seed(0)
    model = torch.nn.Linear(32, 100, device="cuda")
    inputs, target = torch.randn(64, 32, device="cuda"), batch(64, 100)[1]
    loss = losses.get(spec).eval().cuda()

    def run(inputs, target):
        return loss(model(inputs), target)

    run(inputs, target).backward()
    wanted, model.weight.grad = model.weight.grad, None
    torch.compiler.reset()
    torch.compile(run, fullgraph=True)(inputs, target).backward()
    torch.testing.assert_close(model.weight.grad, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("spec", ["ce", "gce", "aul", "nce", "mse"])
def test_two_launches(spec):
    from torch.profiler import ProfilerActivity, profile

    logits, target = batch(128, 10)
    leaf, loss = logits.requires_grad_(), losses.get(spec)
    torch.autograd.grad(loss(leaf, target), leaf)
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recorded:
        torch.autograd.grad(loss(leaf, target), leaf)
        torch.cuda.synchronize()
    names = [e.name for e in recorded.events() if "kernel" in e.name and "Memcpy" not in e.name]
    ours = [n for n in names if n in ("statistics_kernel", "mean_kernel", "gradient_kernel")]
    assert len(ours) == 2
    assert len(names) <= 3, f"{names}: one more fills in the upstream 1"


@pytest.mark.parametrize("spec", COMPARING)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_memory_of_losses_of_more_than_a_label(spec, dtype):
    """Three times the logits where all classes are summed, else the gradient alone."""
    logits, target = batch(2048, 16000, dtype)
    scores, loss = logits.requires_grad_(), losses.get(spec).cuda()
    torch.autograd.grad(loss(scores, target), scores)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    torch.autograd.grad(loss(scores, target), scores)
    extra = torch.cuda.max_memory_allocated() - before
    bound = 3.0 if spec in EVERY_CLASS else 1.05
    assert extra <= bound * logits.numel() * logits.element_size()


@pytest.mark.parametrize("spec", COMPARING)
def test_losses_of_more_than_a_label_wait_for_nothing_and_are_captured(spec):
    logits, target = batch(64, 3000)
    loss, static = losses.get(spec).eval().cuda(), logits.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(loss, static, target)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # capturing fails if the host waits
        value, gradient = step(loss, static, target)
    static.copy_(2 * logits)
    graph.replay()
    wanted, slope = step(loss, 2 * logits, target)
    torch.testing.assert_close(value, wanted)
    torch.testing.assert_close(gradient, slope)


@pytest.mark.parametrize("spec", ["ce", "nce", "10*nce + 0.1*agce(a=1.8, q=3)", "gr(normalize='none')"])
def test_memory_beyond_the_logits_is_the_gradient(spec):
    logits, target = batch(2048, 16000)
    hidden = logits.requires_grad_() * 1
    loss, size = losses.get(spec), logits.numel() * 4
    for allowed, bound in ((False, 1.05), (True, 0.05)):
        scores = hidden * 1
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        if allowed:
            with kernels.inplace():
                value = loss(scores, target)
        else:
            value = loss(scores, target)
        torch.autograd.grad(value, scores)
        assert torch.cuda.max_memory_allocated() - before <= bound * size
