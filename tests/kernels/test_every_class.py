"""Losses that sum over all classes, or compare rows: on every backend against torch in float64."""

import pytest
import torch
from row_batches import TOLERANCE, batch, row_error, step

from noiseproof import losses
from noiseproof.kernels import by_blocks, every_class
from noiseproof.losses import MarginLoss

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
EVERY_CLASS = [
    *("nfl", "nfl(gamma=0)", "nfl(gamma=3.5)", "cr(ce)", "cr(mae)", "cr(gce)", "cr(sl)", "cr(focal)"),
    *(
        "cr(tce)",
        "cr(aul)",
        "cr(agce)",
        "cr(ael)",
        "cr(truncated_gce)",
        "cr(ce + mae, beta=0.3)",
        "cr(gr(normalize='none'))",
    ),
    *("cr(unit_max(gce))", "cr(scale(mae))", "cr(nal_fixed)", "cr(rce)", "cr(nce)", "cr(mse)", "cr(nfl)"),
]
TWO_LABELS = [
    *(
        "peer(ce)",
        "peer(mae)",
        "peer(gce, alpha=0.5)",
        "peer(nce)",
        "peer(mse)",
        "peer(gls)",
        "peer(gr(normalize='none'))",
    ),
    *('peer(gr(normalize="batch"))', "peer(10*nce + 0.1*agce(a=1.8, q=3))", "peer(nfl)", "peer(cr(ce))"),
]
SUMS = ["10*nce + nfl", "cr(ce) + 2*mae", "peer(ce) + nfl", "nfl + mae + mse", "nfl + 2*nfl(gamma=2)"]
SOME = ["nfl", "cr(ce)", "cr(gce)", "cr(nce)", "peer(nce)", "10*nce + nfl"]
SLOW = pytest.mark.slow


@pytest.fixture(params=["torch", pytest.param("operator", marks=SLOW), pytest.param("kernels", marks=SLOW)])
def where(request):
    """Torch calls alone, or with the CPU operator or Triton's kernels for parts that are row functions."""
    if request.param == "kernels":
        return request.getfixturevalue("device")
    if request.param == "operator":
        request.getfixturevalue("operator")
    return "cpu"


def compare(loss, logits, target, device, tolerance, floor=1e-6, **options):
    """``floor``: what a loss subtracts may leave a row with nothing but rounding."""
    wanted, slope = step(loss, logits.double(), target, **options)
    moved = {name: value.to(device) for name, value in options.items()}
    found, gradient = step(loss.to(device), logits.to(device), target.to(device), **moved)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=5e-6)
    assert gradient.dtype == logits.dtype
    assert row_error(gradient, slope, floor) < tolerance
    assert not gradient[logits == -torch.inf].any(), "a masked class has a gradient"
    assert not gradient[target == -100].any(), "an ignored row has one"


@pytest.mark.parametrize("spec", EVERY_CLASS + TWO_LABELS + SUMS)
def test_value_and_gradient(spec, where):
    compare(losses.get(spec).eval(), *batch(40, 5), where, 1e-5, floor=1e-1)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("spec", SOME)
def test_precisions(spec, dtype, where):
    compare(losses.get(spec).eval(), *batch(5, 37, dtype), where, TOLERANCE[dtype], floor=1e-2)


@pytest.mark.parametrize("classes", [3, 17, 1000])
@pytest.mark.parametrize("spec", SOME)
def test_any_number_of_classes(spec, classes, where):
    compare(losses.get(spec).eval(), *batch(6, classes), where, 1e-5, floor=1e-2)


@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0, 30.0])
@pytest.mark.parametrize(
    "spec", ["nfl", "nfl(gamma=2.5)", "cr(ce)", "cr(ce, beta=0.5)", "cr(gce)", "cr(focal)"]
)
def test_rows_without_and_with_a_certain_class(spec, spread):
    compare(losses.get(spec), *batch(200, 12, spread=spread), "cpu", 2e-5, floor=1e-3)


@pytest.mark.parametrize("spec", SOME)
@pytest.mark.parametrize("level", [-1e4, 1e4])
def test_extreme_logits(spec, level, where):
    """At 1e4 float32 logits have three decimals: the loss of the sum of z keeps as many."""
    logits, target = batch(6, 9)
    wide = 1e4 * logits.sign() + logits
    for given in (logits + level, wide):
        found, gradient = step(losses.get(spec).eval().to(where), given.to(where), target.to(where))
        assert found.isfinite()
        assert gradient.isfinite().all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", SOME)
def test_weights_and_reductions(spec, reduction, where):
    logits, target = batch(7, 5)
    weight, share = torch.linspace(0.5, 2, 5), torch.linspace(0, 2, 7)
    for settings, options in (({}, {}), ({"weight": weight}, {}), ({}, {"sample_weight": share})):
        loss = losses.get(spec, reduction=reduction, **settings).eval()
        compare(loss, logits, target, where, 1e-5, floor=1e-2, **options)


def test_a_given_prior_and_a_loss_users_write(where):
    logits, target = batch(8, 5)
    prior = torch.tensor([0.1, 0.0, 0.4, 0.3, 0.2])
    written = MarginLoss.from_value(lambda m: -torch.nn.functional.logsigmoid(m), of="margin")
    for base in ("ce", "gce", "nce", written):
        loss = losses.CR(base, beta=0.7, prior=prior)
        compare(loss, logits, target, where, 1e-5)
        with pytest.raises(ValueError, match="prior has 5 entries, the logits 7 classes"):
            loss(*(t.to(where) for t in batch(8, 7)))


def test_a_label_outside_gives_nan_and_has_no_frequency(device):
    logits, target = batch(4, 5)
    target[2] = 7
    found = losses.get("cr(ce)", reduction="none")(logits.to(device), target.to(device)).cpu()
    assert found.isnan().tolist() == [False, False, True, False]
    kept = torch.tensor([0, 1, 3])
    wanted = losses.get("cr(ce)", reduction="none")(logits[kept].double(), target[kept])
    torch.testing.assert_close(found[kept].double(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", ["nfl", "cr(gce)", "cr(nce)", "10*nce + nfl"])
def test_blocks_of_rows_change_nothing(spec, monkeypatch):
    logits, target = batch(40, 6, torch.float64)
    wanted = step(losses.get(spec), logits, target)
    monkeypatch.setattr(every_class, "BLOCK_ELEMENTS", 20)
    torch.testing.assert_close(step(losses.get(spec), logits, target), wanted)


def test_losses_that_need_the_whole_batch_are_not_cut_into_blocks(monkeypatch):
    logits, target = batch(40, 6, torch.float64)
    for spec in ("cr(cr(ce))", 'cr(gr(normalize="batch"))'):
        wanted = step(losses.get(spec), logits, target)
        with monkeypatch.context() as patch:
            patch.setattr(every_class, "BLOCK_ELEMENTS", 20)
            torch.testing.assert_close(step(losses.get(spec), logits, target), wanted)


@pytest.mark.parametrize(
    "spec",
    [
        "nfl",
        "cr(gce)",
        "peer(ce)",
        *(pytest.param(spec, marks=SLOW) for spec in ("cr(focal)", "cr(nce)", "10*nce + nfl")),
    ],
)
def test_extra_memory_is_at_most_three_times_the_logits(spec):
    from torch.profiler import ProfilerActivity, profile

    logits = torch.randn(2048, 4000, requires_grad=True)
    target, loss = torch.randint(4000, (2048,)), losses.get(spec)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        loss(logits, target).backward()
    live = peak = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    assert peak <= 3 * logits.numel() * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_blocks_on_a_device_are_a_part_of_the_logits(dtype):
    """A dozen temporaries in float32 beside the gradient must fit into three times the logits."""
    logits = torch.empty(8192, 32000, dtype=dtype, device="meta")
    first = next(iter(every_class.blocks_of(logits)))
    temporaries = 12 * (first.stop - first.start) * 32000 * 4
    assert temporaries <= 2 * logits.numel() * logits.element_size()


@pytest.mark.parametrize(
    "spec",
    [
        "nfl",
        "cr(gce)",
        "cr(gr(normalize='none'))",
        "nfl + mae",
        "gr(normalize='none')",
        "imae(normalize='none')",
        "ce",
        "nce",
        "cr(ce)",
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_classes_masked_with_the_smallest_number(spec, dtype):
    """As good as masked with -inf."""
    lowest = torch.finfo(dtype).min
    logits = torch.tensor([[0.0, lowest, lowest, lowest], [1.0, 0.5, lowest, lowest]], dtype=dtype)
    target = torch.tensor([0, 1])
    value, gradient = step(losses.get(spec), logits, target)
    assert value.isfinite()
    assert gradient.isfinite().all()
    reached = float(gradient[:, 2:].abs().max())
    assert reached < 1e-25 or spec in ("nce", "cr(ce)"), "only a sum of z reaches unlikely classes"


def rows(logits, target):
    return -(logits.softmax(1).gather(1, target[:, None]).squeeze(1) ** 2)


def gradient(logits, target):
    every = logits.softmax(1)
    own = every.gather(1, target[:, None])
    slope = 2 * own**2 * every
    return -(own.squeeze(1) ** 2), slope.scatter_add(1, target[:, None], -2 * own**2)


@pytest.mark.parametrize("by_hand", [None, gradient])
@pytest.mark.parametrize("ignored", [False, True])
def test_same_as_the_whole_at_once(by_hand, ignored):
    logits, target = torch.randn(300, 1000, dtype=torch.float64), torch.randint(1000, (300,))
    keep = torch.arange(300) % 3 != 0 if ignored else None
    leaf, plain = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    upstream = torch.randn(300, dtype=torch.float64)
    found, wanted = by_blocks(rows, leaf, target, keep, by_hand), rows(plain, target)
    wanted = wanted if keep is None else torch.where(keep, wanted, 0.0)
    torch.testing.assert_close(found, wanted)
    for _ in range(2):
        (grad,) = torch.autograd.grad(found, leaf, upstream, retain_graph=True)
        (slope,) = torch.autograd.grad(wanted, plain, upstream, retain_graph=True)
        torch.testing.assert_close(grad, slope)


def test_twice_and_empty():
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 1, 2])
    assert torch.autograd.gradgradcheck(lambda z: by_blocks(rows, z, target, None, gradient), logits)
    assert by_blocks(rows, logits[:0], target[:0], None, gradient).shape == (0,)
    with torch.no_grad():
        assert not by_blocks(rows, logits, target, None, gradient).requires_grad
