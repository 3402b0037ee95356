"""cr of losses that are powers of p: rows in which another class than the label has nearly all; priors."""

import pytest
import torch
from row_batches import row_error, step

from noiseproof import losses

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


@pytest.mark.parametrize(
    ("base", "dtype", "most"),
    [
        ("gce", torch.bfloat16, 64),
        ("gce", torch.float16, 64),
        ("gce", torch.float32, None),
        ("mae", torch.bfloat16, None),
        ("mae + 2*gce", torch.bfloat16, None),
    ],
)
def test_two_exponentials_of_16_bits_have_few_registers(base, dtype, most, device, monkeypatch):
    from noiseproof.kernels.triton import launch_powers

    asked = []
    start = launch_powers.start

    def listening(*given, registers=None, **more):
        asked.append(registers)
        start(*given, registers=registers, **more)

    monkeypatch.setattr(launch_powers, "start", listening)
    logits, target, _ = batch(10, 1.0, dtype)
    step(losses.get(f"cr({base})").to(device), logits.to(device), target.to(device))
    assert asked == [most, most]
