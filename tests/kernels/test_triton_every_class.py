"""Losses of every class of a row, or of two labels, on the kernels against torch in float64."""

import importlib

import pytest
import torch
from row_batches import TOLERANCE, batch, row_error, step
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from noiseproof import kernels, losses
from noiseproof.kernels.triton.start import start
from noiseproof.losses import MarginLoss, blind, peer, two_labels

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")

EVERY_CLASS = [
    *("nfl", "nfl(gamma=0)", "nfl(gamma=3.5)", "cr(ce)", "cr(mae)", "cr(gce)", "cr(sl)", "cr(focal)"),
    *("cr(tce)", "cr(aul)", "cr(agce)", "cr(ael)", "cr(truncated_gce)", "cr(ce + mae, beta=0.3)"),
    *("cr(unit_max(gce))", "cr(scale(mae))", "cr(nal_fixed)", "cr(rce)"),
]
TWO_LABELS = [
    *("peer(ce)", "peer(mae)", "peer(gce, alpha=0.5)", "peer(nce)", "peer(mse)", "peer(gls)", "peer(gr)"),
    *('peer(gr(normalize="batch"))', "peer(10*nce + 0.1*agce(a=1.8, q=3))"),
]
WHOLE_BATCH = ['gr(normalize="batch")', 'imae(normalize="batch")']
SUMS = ["10*nce + nfl", "cr(ce) + 2*mae", "peer(ce) + nfl", 'nce + gr(normalize="batch")', "nfl + mae"]
FREE = ("detach", "alias", "view", "new_empty", "empty_like", "select", "slice", "unbind", "t", "expand")
"""Operators that start nothing on a device."""
ALL = EVERY_CLASS + TWO_LABELS + WHOLE_BATCH + SUMS


def compare(spec, logits, target, device, tolerance, floor=1e-6, settings=None, **options):
    """``floor``: what a loss takes away may leave a row with nothing but rounding."""
    loss = losses.get(spec, **(settings or {})).eval()
    wanted, slope = step(loss, logits.double(), target, **options)
    moved = {name: value.to(device) for name, value in options.items()}
    found, gradient = step(loss.to(device), logits.to(device), target.to(device), **moved)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=5e-6)
    assert gradient.dtype == logits.dtype
    assert row_error(gradient, slope, floor) < tolerance
    assert not gradient[logits == -torch.inf].any(), "a masked class has a gradient"
    assert not gradient[target == -100].any(), "an ignored row has one"


@pytest.mark.parametrize("spec", ALL)
def test_value_and_gradient(spec, device):
    compare(spec, *batch(9, 5), device, 1e-5, floor=1e-2 if "mse" in spec else 1e-6)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(mae)", "peer(ce)", "peer(mae)", *WHOLE_BATCH])
def test_precisions(spec, dtype, device):
    compare(
        spec, *batch(5, 37, dtype), device, TOLERANCE[dtype], floor=1e-2 if dtype != torch.float32 else 1e-6
    )


@pytest.mark.parametrize("classes", [3, 17, 100, 1000, 2500])
@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(gce)", "peer(nce)", "peer(ce)"])
def test_any_number_of_classes(spec, classes, device):
    compare(spec, *batch(6, classes), device, 1e-5)


@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0, 30.0])
@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(ce, beta=0.5)", "cr(gce)", "peer(ce)", "peer(gce)"])
def test_flat_and_sure_rows(spec, spread, device):
    """Series for small p, the exact program for a class that has nearly all, and what lies between."""
    compare(spec, *batch(40, 12, spread=spread), device, 1e-5)


@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(mae)", "peer(ce)", "peer(mae)", *WHOLE_BATCH])
@pytest.mark.parametrize("level", [-1e4, 1e4])
def test_extreme_logits(spec, level, device):
    logits, target = batch(6, 9)
    compare(spec, logits + level, target, device, 1e-5)
    wide = 1e4 * logits.sign() + logits
    found, gradient = step(losses.get(spec), wide.to(device), target.to(device))
    assert found.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(gce)", "peer(nce)", "peer(ce)"])
def test_any_strides(spec, device):
    logits, target = (t.to(device) for t in batch(6, 7))
    _, wanted = step(losses.get(spec).eval(), logits, target)
    wide = torch.stack([logits, logits], 2)
    for view in (wide[:, :, 0], logits.t().contiguous().t()):
        leaf = view.detach().requires_grad_()
        (found,) = torch.autograd.grad(losses.get(spec).eval()(leaf, target), leaf)
        torch.testing.assert_close(found.cpu(), wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "peer(ce)", 'gr(normalize="batch")'])
def test_weights_and_reductions(spec, reduction, device):
    logits, target = batch(7, 5)
    weight, share = torch.linspace(0.5, 2, 5), torch.linspace(0, 2, 7)
    for settings, options in (({}, {}), ({"weight": weight}, {}), ({}, {"sample_weight": share})):
        settings = {"reduction": reduction, **settings}
        compare(spec, logits, target, device, 1e-5, settings=settings, **options)


def test_a_given_prior_and_a_loss_users_write(device):
    logits, target = batch(8, 5)
    prior = torch.tensor([0.1, 0.0, 0.4, 0.3, 0.2])
    written = MarginLoss.from_value(lambda m: -torch.nn.functional.logsigmoid(m), of="margin")
    for base in ("ce", "gce", written):
        loss = losses.CR(base, beta=0.7, prior=prior)
        wanted, slope = step(loss, logits.double(), target)
        found, gradient = step(loss.to(device), logits.to(device), target.to(device))
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
        assert row_error(gradient, slope) < 1e-5


def launches(spec, logits, target, monkeypatch):
    """What a training step starts on a device, in order: kernels, and operators of torch."""
    loss, leaf, names = losses.get(spec).to(logits.device), logits.clone().requires_grad_(), []

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            names.append(function.name().split("::")[1].split(".")[0])
            return function(*args, **(kwargs or {}))

    def started(kernel, *arguments, **options):
        names.append(kernel.fn.__name__)
        with _disable_current_modes():
            start(kernel, *arguments, **options)

    for name in LAUNCHING:
        monkeypatch.setattr(importlib.import_module(f"noiseproof.kernels.triton.{name}"), "start", started)
    loss(leaf, target)
    names.clear()
    with Count():
        torch.autograd.grad(loss(leaf, target), leaf, torch.ones((), device=logits.device))
    return [name for name in names if name not in FREE]


LAUNCHING = (
    *("launch", "launch_blind", "launch_mean", "launch_pair", "launch_peer", "launch_prior"),
    *("launch_again", "launch_powers", "launch_series", "zero"),
)
BLIND = ["statistics_kernel", "blind_kernel", "ones", "blind_gradient_kernel"]
PEER = ["permutation_kernel", "pair_statistics_kernel", "ones", "pair_gradient_kernel"]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("nfl", BLIND),
        ("cr(ce)", ["compare_kernel", "prior_kernel", "ones", "prior_gradient_kernel"]),
        ("cr(gce)", ["compare_kernel", "powers_kernel", "ones", "powers_gradient_kernel"]),
        ("cr(focal)", ["compare_kernel", *BLIND]),
        ("peer(ce)", PEER),
        ("10*nce + nfl", BLIND),
    ],
)
def test_small_batches_are_a_handful_of_kernels(spec, wanted, device, monkeypatch):
    logits, target = (t.to(device) for t in batch(6, 5))
    assert launches(spec, logits, target, monkeypatch) == wanted


@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(mae)", "peer(ce)", "peer(gce)"])
def test_second_derivatives(spec, device):
    logits, target = (t.to(device) for t in batch(6, 5))
    loss, found = losses.get(spec).eval(), []
    for numbers in (logits[2:], logits[2:].double()):
        leaf = numbers.masked_fill(numbers == -torch.inf, 0.0).requires_grad_()
        (slope,) = torch.autograd.grad(loss(leaf, target[2:]), leaf, create_graph=True)
        found.append(torch.autograd.grad(slope.square().sum(), leaf)[0].double())
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("base", ["ce", "gce"])
@pytest.mark.parametrize("is_given", [True, False])
def test_classes_masked_in_some_rows_are_labels_of_others(base, is_given, device):
    """Whole blocks and what is left after them, each with masked classes that have a share."""
    logits, target = batch(6, 2500)
    target[[0, 5]] = torch.tensor([7, 2499])
    logits[[2, 4], 7], logits[3, 2499], logits[[0, 5], [7, 2499]] = -torch.inf, -torch.inf, 0.5
    loss = losses.CR(base, prior=torch.linspace(0, 2e-3, 2500) if is_given else None, beta=0.8)
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss.to(device), logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert row_error(gradient, slope) < 1e-5


@pytest.mark.parametrize("spec", EVERY_CLASS)
def test_no_torch_expression_of_all_classes_is_left(spec, device, monkeypatch):
    logits, target = (t.to(device) for t in batch(6, 5))
    loss = losses.get(spec)
    monkeypatch.setattr(type(loss), "index_rows", None)
    step(loss, logits, target)


@pytest.mark.parametrize("spec", TWO_LABELS)
def test_both_labels_share_one_gradient_pass(spec, device, monkeypatch):
    calls = []
    monkeypatch.setattr(two_labels, "pair_rows", lambda *a: calls.append(1) or kernels.pair_rows(*a))
    step(losses.get(spec, reduction="none"), *(t.to(device) for t in batch(6, 5)))
    assert calls == [1]


@pytest.mark.parametrize("most_drawn_again", [4096, 0])
@pytest.mark.parametrize("rows", [6, 300])
def test_kernels_draw_the_same_permutations(rows, most_drawn_again, device, monkeypatch):
    from noiseproof.kernels.triton import launch, launch_peer

    monkeypatch.setattr(launch_peer, "MOST_ROWS_DRAWN_AGAIN", most_drawn_again)
    logits, target = (t.to(device) for t in batch(rows, 5))
    loss = losses.get("peer(ce, seed=11)").to(device).train()
    for _ in range(3):
        places, labels = launch_peer.permutation(
            launch.Batch(logits, target, None, -100), loss.step, loss._plan(logits).begins
        )
        keep = target != -100
        wanted = peer.partners(target, *loss._permutations(logits, keep))
        assert torch.equal(labels[places.long()[keep]], wanted[keep])
        assert places[keep].sort().values.tolist() == list(range(int(keep.sum())))


@pytest.mark.parametrize("most_drawn_again", [4096, 0])
def test_rows_with_equal_keys_keep_their_order(most_drawn_again, device, monkeypatch):
    """Three bits leave eight keys for 150 rows, in blocks before, of and after those of a program."""
    if device == "cuda":
        pytest.skip("constants of compiled kernels cannot be changed")
    from noiseproof.kernels.triton import launch_peer, permutation

    monkeypatch.setattr(peer, "KEY_SHIFT", 61)
    monkeypatch.setattr(permutation, "KEY_SHIFT", 61)
    monkeypatch.setattr(launch_peer, "PERMUTATION_BLOCK", 64)
    test_kernels_draw_the_same_permutations(150, most_drawn_again, device, monkeypatch)


@pytest.mark.parametrize("most_compared", [1 << 23, 0])
@pytest.mark.parametrize(("rows", "classes"), [(6, 5), (300, 33)])
def test_labels_are_counted(rows, classes, most_compared, device, monkeypatch):
    from noiseproof.kernels.triton import launch, launch_prior

    monkeypatch.setattr(launch_prior, "MOST_COMPARED", most_compared)
    logits, target = torch.zeros(rows, classes), torch.randint(classes, (rows,))
    target[0], target[1], target[2] = -100, classes, -1
    counts = launch_prior.counted(launch.Batch(logits.to(device), target.to(device), None, -100)).cpu()
    there = target[3:]
    assert counts.tolist() == [*torch.bincount(there, minlength=classes).tolist(), rows - 1]


@pytest.mark.parametrize("spec", ["peer(ce)", "peer(gce, alpha=0.5)"])
def test_training_steps_of_the_peer_loss(spec, device):
    """Other permutations at every step, two classes that may both be labels, and every reduction."""
    for reduction, classes in (("mean", 2), ("sum", 2), ("mean", 3)):
        ours, theirs = losses.get(spec, reduction=reduction).to(device), losses.get(spec, reduction=reduction)
        logits, target = 3 * torch.randn(9, classes), torch.arange(9) % classes
        target[4] = -100
        for _ in range(3):
            found, gradient = step(ours, logits.to(device), target.to(device))
            wanted, slope = step(theirs, logits.double(), target)
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=5e-6)
            assert row_error(gradient, slope, 1e-6) < 1e-5
        assert int(ours.step) == 3


def test_programs_are_recorded_once(device, monkeypatch):
    logits, target = (t.to(device) for t in batch(6, 5))
    monkeypatch.setattr(blind, "_programs", {})
    for gamma in (0.53, 0.53, 1.57):  # of no other test: what is launched once may never ask again
        losses.NFL(gamma=gamma)(logits, target)
    assert len(blind._programs) == 2


@pytest.mark.parametrize(
    ("spec", "operator"),
    [
        ("nfl", "blind_statistics"),
        ("cr(gce)", "blind_statistics"),
        ("peer(ce)", "row_statistics"),
        ('gr(normalize="batch")', "row_statistics"),
    ],
)
def test_compiled_in_one_graph_with_the_kernels(spec, operator, device):
    logits, target = (t.to(device) for t in batch(6, 5))
    loss, names = losses.get(spec).eval().to(device), []

    def backend(graph, inputs):
        names.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    torch.compiler.reset()
    torch.compile(loss, fullgraph=True, backend=backend)(logits, target)
    assert any(operator in name for name in names)


def test_the_operator_keeps_the_rules_of_torch(device):
    logits, target = (t.to(device) for t in batch(6, 5))
    program = kernels.record_classes(losses.get("gce").evaluate)
    code = [float(number) for number in program.code]
    for prior in (None, torch.full((5,), 0.2, device=device)):
        arguments = (
            logits.requires_grad_(),
            target.clamp_min(0),
            target >= 0,
            prior,
            code,
            [*program.outputs],
        )
        checks = ("test_schema", "test_faketensor", "test_autograd_registration")
        torch.library.opcheck(torch.ops.noiseproof.blind_statistics.default, arguments, test_utils=checks)
