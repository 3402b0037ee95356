"""cr of losses that are powers of p: rows in which another class than the label has nearly all; priors."""

import pytest
import torch
from row_batches import row_error, step

from noiseproof import losses
from noiseproof.kernels.triton import launch

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
slow = pytest.mark.slow
BASES = ["mae", "gce(q=0.7)", "gce(q=0.2)", "mae + 2*gce", "unit_max(gce)"]


def batch(classes, lead, dtype=torch.float32):
    """In every row but the first a class leads the others, in half of them the label."""
    generator = torch.Generator().manual_seed(classes)
    logits = 2 * torch.randn(8, classes, generator=generator)
    target = torch.randint(classes, (8,), generator=generator)
    top = torch.where(torch.arange(8) % 2 == 0, target, (target + 3) % classes)
    logits[torch.arange(1, 8), top[1:]] = logits[1:].amax(1) + lead
    return logits.to(dtype), target, top


def compare(loss, logits, target, device, tolerance=1e-5):
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss.to(device), logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=2e-6)
    assert row_error(gradient, slope, 1e-6) < tolerance
    assert not gradient[logits == -torch.inf].any()


@pytest.mark.parametrize("lead", [0.0, 3.0, 12.0])
@pytest.mark.parametrize("classes", [10, pytest.param(2500, marks=slow)])
@pytest.mark.parametrize("base", BASES)
def test_one_class_leads(base, classes, lead, device):
    compare(losses.get(f"cr({base})", reduction="none"), *batch(classes, lead)[:2], device)


@pytest.mark.parametrize("lead", [1.0, 8.0])
@pytest.mark.parametrize(
    "base", [pytest.param("mae", marks=slow), "gce", pytest.param("mae + 2*gce", marks=slow)]
)
def test_a_prior_that_is_largest_where_a_class_is_sure(base, lead, device):
    logits, target, top = batch(2500, lead)
    prior = torch.full((2500,), 1e-4).index_add(0, top, torch.full((8,), 0.05))
    compare(losses.CR(base, prior=prior, beta=0.8, reduction="none"), logits, target, device)


@pytest.mark.parametrize("base", ["mae", "gce"])
def test_masked_classes_have_no_share(base, device):
    logits, target, top = batch(2500, 6.0)
    for row, column in ((0, 5), (1, 2499), (2, 700), (3, 2049)):
        logits[row, column] = -torch.inf if column not in (target[row], top[row]) else logits[row, column]
    prior = torch.linspace(0, 1e-3, 2500)
    compare(losses.CR(base, prior=prior, reduction="none"), logits, target, device)
    compare(losses.CR(base, reduction="none"), logits, target, device)


@pytest.mark.parametrize("base", ["mae", "gce"])
def test_half_precision(base, device):
    logits, target, _ = batch(2500, 2.0, torch.bfloat16)
    compare(losses.get(f"cr({base})", reduction="none"), logits, target, device, 1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("base", ["mae", "gce", pytest.param("mae + 2*gce", marks=slow)])
@pytest.mark.parametrize("above", [30.0, 60.0, 500.0])
def test_classes_far_above_the_first_block(base, above, dtype, device):
    """One of them, so that it is sure, and two of them, with labels here and there."""
    logits, target, _ = batch(5000, 0.0, dtype)
    logits[:, 4000], logits[::2, 4500] = above, above - 1
    logits[3:5, 100], target[3:5] = above, 100
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    compare(losses.get(f"cr({base})", reduction="none"), logits, target, device, tolerance)


@pytest.mark.parametrize("base", ["mae", "gce"])
def test_a_first_block_that_is_masked(base, device):
    logits, target, _ = batch(5000, 1.0)
    logits[:5, :3000], target[:5] = -torch.inf, 4000
    logits[5, :3000], logits[5, 3002:], target[5] = -torch.inf, -torch.inf, 3000
    compare(losses.get(f"cr({base})", reduction="none"), logits - 200, target, device)


@pytest.mark.parametrize("rows", [7, 8])
@pytest.mark.parametrize("base", ["mae", "gce(q=0.2)", "mae + 2*gce"])
def test_a_masked_first_block_beside_rows_that_do_not_count(base, rows, device):
    """Two rows to a program, the last of which is alone or beside an ignored one."""
    logits, target, _ = batch(2500, 1.0)
    logits[:, :1024], target = -torch.inf, 1100 + 100 * torch.arange(8)
    target[5] = -100
    loss = losses.CR(base, prior=torch.linspace(1e-4, 1e-3, 2500), reduction="none")
    compare(loss, (logits - 200)[:rows], target[:rows], device)


@pytest.mark.parametrize("lead", [20.0, 60.0, 80.0])
def test_a_label_far_above_a_class_that_is_far_above_the_first_block(lead, device):
    logits = torch.zeros(3, 2500)
    logits[:, 2100] = torch.tensor([10.0, 20.0, 40.0])
    logits[:, 2300] = logits[:, 2100] + lead
    loss = losses.CR("gce(q=0.2)", prior=torch.linspace(1e-4, 1e-3, 2500), reduction="none")
    compare(loss, logits, torch.full((3,), 2300), device)


@pytest.mark.parametrize("classes", [10, 2500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_an_infinite_logit_is_not_hushed_up(classes, dtype, device):
    """Nobody checks values on a GPU, and a scaler of gradients waits for what is not finite."""
    logits, target = torch.zeros(2, classes, dtype=dtype, device=device), torch.tensor([3, 3], device=device)
    logits[0, classes - 2] = torch.inf
    ours, prior = launch.Batch(logits, target, None, -100), torch.full((classes,), 0.1, device=device)
    plan = losses.CR("mae", prior=prior)._plan(logits, prior)
    values, saved = plan.first(ours, None)
    gradient = plan.second(ours, saved, torch.ones((), device=device), None)
    assert values.isnan().tolist() == [True, False]
    assert gradient[0].isnan().any()
    assert gradient[1].isfinite().all()


@pytest.mark.parametrize("offset", [0.0, 1000.0, 30000.0])
@pytest.mark.parametrize("base", ["mae", "gce(q=0.2)"])
def test_logits_of_16_bits_far_from_0(base, offset, device):
    logits, target, _ = batch(2500, 3.0, torch.float16)
    logits = ((logits.float() / 16).round() * 16 + offset).half()
    wanted, slope = step(loss := losses.get(f"cr({base})", reduction="none"), logits.double(), target)
    found, gradient = step(loss.to(device), logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert row_error(gradient, slope, 1e-2) < 1e-2


@pytest.mark.parametrize("base", ["mae", "gce(q=0.7)", "mae + 2*gce"])
def test_long_rows_are_finished_by_another_kernel_alike(base, device, monkeypatch):
    from noiseproof.kernels.triton import launch_powers

    logits, target, _ = batch(2049, 2.0)
    loss = losses.get(f"cr({base})", reduction="none").to(device)
    logits, target = logits.to(device), target.to(device)
    found, gradient = step(loss, logits, target)
    monkeypatch.setattr(launch_powers, "powers_finish_kernel", None)
    with pytest.raises(TypeError):
        step(loss, logits, target)
    monkeypatch.setattr(launch_powers, "MOST_AT_ONCE", 2049)
    at_once, same = step(loss, logits, target)
    torch.testing.assert_close(found, at_once, rtol=1e-6, atol=1e-7)
    assert row_error(gradient, same.double()) < 1e-6


@pytest.mark.parametrize(
    ("base", "dtype", "classes", "most"),
    [
        ("gce", torch.bfloat16, 2500, [64, None, 32]),
        ("mae", torch.float16, 2500, [64, None, 32]),
        ("gce", torch.float32, 2500, [80, None, 80]),
        ("gce", torch.bfloat16, 10, [None, None]),
        ("mae + 2*gce", torch.bfloat16, 2500, [None, None, None]),
    ],
)
def test_long_rows_of_one_power_have_few_registers(base, dtype, classes, most, device, monkeypatch):
    from noiseproof.kernels.triton import launch_powers

    asked = []
    start = launch_powers.start

    def listening(*given, registers=None, **more):
        asked.append(registers)
        start(*given, registers=registers, **more)

    monkeypatch.setattr(launch_powers, "start", listening)
    logits, target, _ = batch(classes, 1.0, dtype)
    step(losses.get(f"cr({base})").to(device), logits.to(device), target.to(device))
    assert asked == most
