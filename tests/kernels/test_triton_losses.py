"""Every loss on the kernels against the torch expressions in float64."""

import pytest
import torch
from row_batches import TOLERANCE, batch, row_error, step

from noiseproof import losses
from noiseproof.kernels import Partials, Wanted, apply, program
from noiseproof.losses import MarginLoss
from noiseproof.losses.statistics_loss import StatisticsLoss

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")

RECORDED = [
    *("ce", "focal", "mae", "rce", "sl", "sce", "gce", "truncated_gce", "tce", "aul", "agce", "ael"),
    *("nal_fixed", "nce", "mse", "gls", "scale(mae)", "shift(gce)", "unit_max(gce)", "tce(order=30)"),
    *(
        "10*nce + 0.1*agce(a=1.8, q=3)",
        "ce + 2*mae",
        'gr(g="identity", normalize="none")',
        "gls(alpha=-0.5)",
        "mse(alpha=0.3)",
    ),
    *("gr(normalize='none')", "imae(normalize='none')"),
]
MORE = [
    *('gr(normalize="batch")', 'nce + gr(normalize="batch")', "nfl", "cr(ce)", "cr(nce)", "peer(ce)"),
]


def compare(loss, logits, target, device, tolerance, floor=0.0, **options):
    wanted, slope = step(loss, logits.double(), target, **options)
    moved = {name: value.to(device) for name, value in options.items()}
    found, gradient = step(loss.to(device), logits.to(device), target.to(device), **moved)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=2e-6)
    assert gradient.dtype == logits.dtype
    assert row_error(gradient, slope, floor) < tolerance
    assert not gradient[logits == -torch.inf].any(), "a masked class has a gradient"
    assert not gradient[target == -100].any(), "an ignored row has one"


@pytest.mark.quick
@pytest.mark.parametrize("spec", RECORDED + MORE)
def test_value_and_gradient(spec, device):
    compare(losses.get(spec).eval(), *batch(9, 5), device, 1e-5)


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_prior_in_half_precision(dtype, device):
    """Ten times 0.1 is 1.001 in bfloat16."""
    compare(losses.CR("ce", prior=torch.full((10,), 0.1)).to(dtype), *batch(9, 10), device, 1e-5)
    compare(losses.CR("ce", prior=torch.full((10,), 0.1, dtype=dtype)), *batch(9, 10), device, 1e-5)


@pytest.mark.parametrize("classes", [2, 3, 17, 100, 1000, 5000])
@pytest.mark.parametrize("spec", ["gce", "10*nce + 0.1*agce(a=1.8, q=3)"])
def test_any_number_of_classes(spec, classes, device):
    """Of two classes the gradient of NCE vanishes as 1 - NCE does, which float32 cannot tell from 0."""
    floor = 1e-2 if "nce" in spec and classes < 4 else 0.0
    compare(losses.get(spec), *batch(3 if classes > 100 else 20, classes), device, 1e-5, floor)


@pytest.mark.parametrize("spec", ["gce", "nce"])
def test_any_strides(spec, device):
    logits, target = (t.to(device) for t in batch(6, 7))
    _, wanted = step(losses.get(spec), logits, target)
    wide = torch.stack([logits, logits], 2)
    for view in (wide[:, :, 0], logits.t().contiguous().t(), wide.transpose(0, 1)[:, :, 1].t()):
        leaf = view.detach().requires_grad_()
        (found,) = torch.autograd.grad(losses.get(spec)(leaf, target), leaf)
        torch.testing.assert_close(found.cpu(), wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("spec", ["ce", "mse", "gls", "gr(normalize='none')"])
def test_half_precision(spec, dtype, device):
    compare(losses.get(spec), *batch(5, 37, dtype), device, TOLERANCE[dtype])


@pytest.mark.parametrize("spec", ["ce", "mae", "nce", "gls", "gce"])
@pytest.mark.parametrize("level", [-1e4, 1e4])
def test_extreme_logits(spec, level, device):
    logits, target = batch(6, 9)
    compare(losses.get(spec), logits + level, target, device, 1e-5)
    wide = 1e4 * logits.sign() + logits
    found, gradient = step(losses.get(spec), wide.to(device), target.to(device))
    assert found.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", ["gce", "nce", "gr(normalize='none')"])
def test_weights_and_reductions(spec, reduction, device):
    logits, target = batch(7, 5)
    weight = torch.linspace(0.5, 2, 5)
    share = torch.linspace(0, 2, 7)
    for settings, options in (({}, {}), ({"weight": weight}, {}), ({}, {"sample_weight": share})):
        compare(losses.get(spec, reduction=reduction, **settings), logits, target, device, 1e-5, **options)


@pytest.mark.parametrize("spec", RECORDED)
def test_built_in_losses_become_programs(spec):
    assert apply.kernel_recording(losses.get(spec).row_function(10)) is not None


def test_losses_users_write(device):
    logits, target = batch(6, 5)
    written = [
        MarginLoss.from_emphasis(lambda p, rest: p * rest),
        MarginLoss.from_value(lambda p, rest: rest**3),
        MarginLoss.from_value(lambda m: -torch.nn.functional.logsigmoid(m), of="margin"),
    ]
    for loss in written:
        compare(loss, logits, target, device, 1e-5)


class Entropy(StatisticsLoss):
    """Cross entropy and the entropy of the softmax, which needs the sum of p z."""

    name = "entropy"
    wanted = Wanted(products=True)

    def value_and_partials(self, row, classes):
        value = row.logsumexp - row.sum_pz - torch.nn.functional.logsigmoid(row.margin)
        one = torch.ones_like(value)
        return value, Partials(-torch.sigmoid(-row.margin), logsumexp=one, sum_pz=-one)


@pytest.mark.parametrize("way", ["program", "torch", "compiled"])
def test_a_loss_of_the_sum_of_p_z(way, device, monkeypatch):
    logits, target = batch(6, 5)
    wanted, slope = step(Entropy(), logits.double(), target)
    loss = Entropy()
    if way == "torch":
        monkeypatch.setattr(apply, "kernel_recording", lambda function: None)
    if way == "compiled":
        torch.compiler.reset()
        loss = torch.compile(loss, fullgraph=True, backend="aot_eager")
    found, gradient = step(loss, logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    assert row_error(gradient, slope) < 1e-5


SCHEDULE = {"factor": 1.0}


class Annealed(MarginLoss):
    """Reads a number that is no attribute of the loss, as a schedule would."""

    name = "annealed"

    def value(self, margin):
        return torch.sigmoid(-margin) * SCHEDULE["factor"]

    def emphasis(self, margin):
        return torch.sigmoid(margin) * torch.sigmoid(-margin) * SCHEDULE["factor"]


def test_a_loss_that_changes_is_recorded_anew(device, monkeypatch):
    logits, target = (t.to(device) for t in batch(6, 5))
    mine = Annealed()
    once = float(mine(logits, target))
    monkeypatch.setitem(SCHEDULE, "factor", 2.0)
    torch.testing.assert_close(float(mine(logits, target)), 2 * once)


def test_constants_that_change_all_the_time_do_not_compile_for_ever(monkeypatch):
    monkeypatch.setattr(program, "_constants_seen", {})
    specs = [f"gce(q={q / 100})" for q in range(1, 41)]
    found = [apply.kernel_recording(losses.get(spec).row_function(10)) for spec in specs]
    assert sum(f is not None for f in found) == program.PROGRAMS_PER_SHAPE


def test_margin_and_statistics(device):
    logits, target = batch(6, 7)
    for function in (losses.margin, lambda z, y: torch.stack(losses.row_statistics(z, y))):
        wanted, slope = step(function, logits.double(), target)
        found, gradient = step(function, logits.to(device), target.to(device))
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
        assert row_error(gradient, slope) < 1e-5


def test_float64_and_switch_keep_the_torch_path(monkeypatch, device):
    logits = torch.zeros(2, 3, device=device)
    assert apply.uses_triton(logits)
    assert not apply.uses_triton(logits.double())
    assert not apply.uses_triton(logits[:0])
    monkeypatch.setattr(apply, "enabled", False)
    assert not apply.uses_triton(logits)


def test_label_outside_gives_nan_and_stays_in_memory(device):
    logits, target = batch(4, 5)
    target[2] = 7
    found = losses.get("ce", reduction="none")(logits.to(device), target.to(device))
    assert found.isnan().tolist() == [False, False, True, False]


def test_one_class_left_is_nothing_to_learn(device):
    logits = torch.full((1, 4), -torch.inf, device=device)
    logits[0, 2] = 1.0
    value, gradient = step(losses.get("ce"), logits, torch.tensor([2], device=device))
    assert float(value) == 0
    assert not gradient.any()


@pytest.mark.quick
@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (7, 3), (1500, 10), (40, 2500), (9000, 9000)])
def test_label_frequencies(rows, classes, device):
    """Labels that are not class indices are left out; the last case has several blocks of both."""
    from noiseproof.kernels.triton import launch
    from noiseproof.kernels.triton.statistics import frequencies_kernel

    target = torch.randint(classes, (rows,), generator=torch.Generator().manual_seed(rows))
    target[::5] = -100
    target[2:3] = classes
    kept = target[(target >= 0) & (target < classes)]
    wanted = torch.bincount(kept, minlength=classes) / max(1, len(kept))
    found = torch.full((classes,), torch.nan, device=device)
    sizes = launch.frequencies_sizes(rows, classes)
    launch.start(frequencies_kernel, sizes, (target.to(device), found))
    torch.testing.assert_close(found.cpu(), wanted.float())


@pytest.mark.quick
def test_label_frequencies_of_later_batches_and_other_settings(device, monkeypatch):
    """A class may be ignored, a prior may be given later, and many labels are counted by torch."""
    loss, (logits, target) = losses.get("cr(ce)"), batch(9, 5)
    for labels in (target, target.flip(0).where(target >= 0, -100), target):
        compare(loss, logits, labels, device, 1e-5)
    loss.prior = torch.tensor([0.1, 0.2, 0.3, 0.2, 0.2])
    compare(loss, logits, target, device, 1e-5)
    loss.prior = None
    compare(loss, logits, target, device, 1e-5)
    plain, labels = torch.randn(6, 3), torch.tensor([0, 1, 1, 2, 0, 1])
    wanted, slope = step(losses.get("cr(ce)", ignore_index=0), plain.double(), labels)
    found, gradient = step(losses.get("cr(ce)", ignore_index=0), plain.to(device), labels.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=2e-6)
    assert row_error(gradient, slope) < 1e-5
    monkeypatch.setattr(apply, "MAX_COUNTED", 2)
    many = losses.get("cr(ce)")
    compare(many, logits, target, device, 1e-5)
    assert many.row_function(5).plans is None, "a plan would count the labels"
    assert loss.row_function(5).plans is not None
