"""Normalised losses of many classes: one pass for most rows, a second look at those no series is good for."""

import pytest
import torch
from row_batches import row_error, step

from noiseproof import losses
from noiseproof.kernels.triton import launch_series, start

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
slow = pytest.mark.slow
LABELS = 4
"""Rows: a random label, an unlikely one, a sure one, one beside a class that has nearly all."""


def batch(classes, spread, dtype=torch.float32):
    generator = torch.Generator().manual_seed(classes)
    logits = spread * torch.randn(LABELS, classes, generator=generator)
    target = torch.randint(classes, (LABELS,), generator=generator)
    target[1] = logits[1].argmin()
    logits[2, target[2]] = logits[2].max() + 5
    logits[3, (target[3] + 7) % classes] = logits[3].max() + 9
    return logits.to(dtype), target


def errors(loss, logits, target, device):
    """Of values and gradients against float64, and how many rows were read again."""
    again = []

    def read_again(batch, program, found, *rest):
        again.append(int((found[0][3] == 1).sum()))
        blind_again(batch, program, found, *rest)

    blind_again = launch_series.blind_again
    wanted, slope = step(loss, logits.double(), target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch_series, "blind_again", read_again)
        found, gradient = step(loss, logits.to(device), target.to(device))
    return float(((found - wanted) / wanted).abs().max()), row_error(gradient, slope), again[0]


@pytest.mark.parametrize("classes", [2049, *(pytest.param(many, marks=slow) for many in (5000, 20000))])
@pytest.mark.parametrize("spread", [1.0, pytest.param(4.0, marks=slow), 20.0])
@pytest.mark.parametrize("spec", ["nfl", "nfl(gamma=2)", pytest.param("nfl(gamma=5)", marks=slow)])
def test_values_and_gradients(spec, spread, classes, device):
    value, gradient, _ = errors(losses.get(spec, reduction="none"), *batch(classes, spread), device)
    assert value < 5e-6
    assert gradient < 5e-6


def test_half_precision(device):
    logits, target = batch(4100, 3.0, torch.bfloat16)
    value, gradient, _ = errors(losses.get("nfl", reduction="none"), logits, target, device)
    assert value < 5e-6
    assert gradient < 1e-2


@pytest.mark.parametrize("spread", [pytest.param(1.0, marks=slow), 4.0, pytest.param(20.0, marks=slow)])
def test_most_rows_are_read_once(spread, device):
    assert errors(losses.get("nfl", reduction="none"), *batch(20000, spread), device)[2] == 0


@pytest.mark.parametrize("level", [-1e4, 1e4])
def test_logits_far_from_0(level, device):
    logits, target = batch(3000, 2.0)
    value, gradient, _ = errors(losses.get("nfl", reduction="none"), logits + level, target, device)
    assert value < 5e-6
    assert gradient < 1e-5


@pytest.mark.parametrize("level", [1000.0, -4000.0, 30000.0])
def test_logits_of_16_bits_far_from_0(level, device):
    """Every block may be off by a part of the level: by the same, or many blocks would drift."""
    logits, target = batch(12000, 8.0)
    logits = ((logits / 16).round() * 16 + level).bfloat16()
    value, gradient, _ = errors(losses.get("nfl", reduction="none"), logits, target, device)
    assert value < 5e-6
    assert gradient < 1e-2


def test_likely_classes_in_one_lane_are_looked_at_again(device):
    """Neighbours that one thread adds up, next to a row without them."""
    logits, target = batch(5000, 0.1)
    target[:2] = 4000
    logits[0, 64:68] = 9.0
    value, gradient, again = errors(losses.get("nfl(gamma=3)", reduction="none"), logits, target, device)
    assert again > 0
    assert value < 5e-6
    assert gradient < 5e-6


def test_masked_classes_and_ignored_rows(device):
    logits, target = batch(4100, 2.0)
    target[1] = -100
    logits[1] = torch.nan
    logits[0, 17] = logits[3, 4099] = -torch.inf
    loss = losses.get("nfl", reduction="none")
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=5e-6, atol=0)
    assert row_error(gradient, slope) < 5e-6
    assert not gradient[logits == -torch.inf].any()
    assert not gradient[1].any()


def test_the_first_class_may_be_the_label(device):
    logits, target = batch(3000, 2.0)
    value, gradient, again = errors(losses.get("nfl", reduction="none"), logits, target * 0, device)
    assert value < 5e-6
    assert gradient < 5e-6
    assert again == 0


def test_a_mean_over_rows_that_count(device):
    logits, target = batch(3000, 2.0)
    target[0] = -100
    wanted, slope = step(losses.get("nfl"), logits.double(), target)
    found, gradient = step(losses.get("nfl"), logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=5e-6, atol=0)
    assert row_error(gradient, slope) < 5e-6


SUMS = ["10*nce + nfl", "nfl + mae", "2*nfl(gamma=2) + rce + gls"]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("classes", [20, pytest.param(3000, marks=slow)])
@pytest.mark.parametrize("spec", SUMS)
def test_sums_with_losses_of_row_statistics(spec, classes, masked, device):
    """Also rows that are read again, ignored ones, and those in which a class is sure."""
    logits, target = batch(classes, 3.0)
    target[1] = -100
    if masked:
        logits[0, (target[0] + 1) % classes] = -torch.inf
    for reduction in ("mean", "none"):
        loss = losses.get(spec, reduction=reduction)
        wanted, slope = step(loss, logits.double(), target)
        found, gradient = step(loss, logits.to(device), target.to(device))
        torch.testing.assert_close(found, wanted, rtol=5e-6, atol=0)
        assert row_error(gradient, slope) < 5e-6
        assert not gradient[logits == -torch.inf].any()
        assert not gradient[1].any()


@pytest.mark.parametrize(
    ("classes", "spread", "level"),
    [
        (2049, 1.0, 0.0),
        pytest.param(3000, 20.0, 0.0, marks=slow),
        pytest.param(3000, 2.0, 1e4, marks=slow),
        pytest.param(262144, 3.0, 0.0, marks=slow),
    ],
)
@pytest.mark.parametrize("spec", SUMS)
def test_sums_of_any_logits(spec, classes, spread, level, device):
    logits, target = batch(classes, spread)
    value, gradient, _ = errors(losses.get(spec, reduction="none"), logits + level, target, device)
    assert value < 2e-6
    assert gradient < 2e-6


def test_sums_in_half_precision(device):
    logits, target = batch(4100, 3.0, torch.bfloat16)
    value, gradient, _ = errors(losses.get("10*nce + nfl", reduction="none"), logits, target, device)
    assert value < 2e-6
    assert gradient < 1e-2


@pytest.mark.parametrize("depth", [-torch.inf, -1e9])
def test_sums_without_some_classes(depth, device):
    """Also that which stands for the label, and all but two; logits of a row do not lie together."""
    logits, target = batch(2100, 2.0)
    target[:] = torch.tensor([9, 0, 2099, 40])
    logits[0, :3] = logits[1, 1] = logits[2, 1:2099] = logits[3, 2090:] = depth
    loss = losses.get("10*nce + nfl + gls", reduction="none")
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits.to(device).T.contiguous().T, target.to(device))
    torch.testing.assert_close(found, wanted, rtol=2e-6, atol=1e-6)
    assert row_error(gradient, slope, 1e-6) < 1e-5
    if depth == -torch.inf:
        assert not gradient[logits == depth].any()


@pytest.mark.parametrize("spec", SUMS)
def test_a_label_outside_makes_a_sum_nan(spec, device):
    logits, target = batch(2100, 2.0)
    target[1] = 2100
    found, gradient = step(losses.get(spec, reduction="none"), logits.to(device), target.to(device))
    assert found.isnan().tolist() == [False, True, False, False]
    assert gradient.isnan().any(1).tolist() == [False, True, False, False]


@pytest.mark.parametrize("spec", ["nfl", "10*nce + nfl", "nfl + mae", "nfl + rce + gls"])
def test_the_first_pass_reads_all_logits_once(spec, device, monkeypatch):
    """``blind_again_kernel`` leaves all rows but those that the state tells it to read."""
    heard = []
    monkeypatch.setattr(start, "_hear", lambda *launch: heard.append(start.Heard(*launch)))
    logits, target = (t.to(device) for t in batch(2100, 0.5))
    losses.get(spec, reduction="none")(logits.requires_grad_(), target)
    readers = [launch for launch in heard if launch.arguments[0].data_ptr() == logits.data_ptr()]
    assert [name_of(launch) for launch in readers] == ["series_kernel", "blind_again_kernel"]
    assert not (readers[0].arguments[3][3] == 1).any()


def name_of(launch):
    """Of a kernel that was compiled, or else interpreted."""
    return getattr(launch.compiled, "name", None) or launch.compiled.fn.__name__


@pytest.mark.parametrize(("spec", "is_one"), [*((spec, True) for spec in SUMS), ("nfl + mse", False)])
def test_which_sums_have_one_gradient(spec, is_one):
    assert (losses.get(spec)._plan(100) is not None) is is_one
