"""Labels counted in 16 bits for losses of many classes: the counts, and what is made of them."""

import pytest
import torch
from row_batches import TOLERANCE, row_error, step

from noiseproof import losses

pytest.importorskip("triton")

from noiseproof.kernels.triton import launch, launch_blind, launch_powers, launch_prior
from noiseproof.kernels.triton.tile import Tile

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
COUNTS = [0, 1, 255, 257, 2047, 2049, 4097, 32767, 32769, 65534, 65535]
"""257, 2049 and 32769 are too much for bfloat16, float16 and signed numbers of 16 bits."""
MANY = 2100


@pytest.mark.parametrize("most_compared", [1 << 23, 0])
@pytest.mark.parametrize("classes", [3, 4])
def test_as_many_rows_as_16_bits_hold(classes, most_compared, device, monkeypatch):
    """Two numbers share a word; the number of all rows is in its first half or in its second."""
    monkeypatch.setattr(launch_prior, "MOST_COMPARED", most_compared)
    monkeypatch.setattr(launch_prior, "COUNT_BLOCK", 8192 if device == "cpu" else launch_prior.COUNT_BLOCK)
    target = torch.zeros(65536, dtype=torch.int64)
    target[:300], target[300:400], target[400:403] = 1, classes - 1, torch.tensor([-1, classes, -100])
    logits = torch.zeros(1, classes).expand(len(target), -1)
    found = launch_prior.counted(launch.Batch(logits.to(device), target.to(device), None, -100), narrow=True)
    assert found.dtype == torch.uint16
    assert found.tolist() == [65536 - 403, 300, *[0] * (classes - 3), 100, 65535]


@pytest.mark.parametrize(
    ("rows", "classes", "dtype", "narrow"),
    [
        (65535, MANY, torch.bfloat16, True),
        (8, MANY, torch.float16, True),
        (65536, MANY, torch.bfloat16, False),
        (8, 2048, torch.bfloat16, False),
        (8, MANY, torch.float32, False),
    ],
)
def test_which_counts_have_16_bits(rows, classes, dtype, narrow):
    logits = torch.empty(rows, classes, dtype=dtype, device="meta")
    assert launch_prior.is_narrow(launch.Batch(logits, logits, None, -100)) is narrow


def values_and_gradient(base, prior, batch):
    plan = losses.CR(base, beta=0.7)._plan(batch.logits, prior)
    values, saved = plan.first(batch, None)
    return values, plan.second(batch, saved, torch.ones((), device=values.device), None)


@pytest.mark.parametrize("base", ["ce", "mae", "mae + 2*gce"])
def test_counts_of_16_bits_are_exact(base, device):
    """Rows with masked classes, of which all are asked once more, and one with a sure class."""
    logits = (3 * torch.randn(5, MANY, generator=torch.Generator().manual_seed(0))).bfloat16()
    logits[1, 5], logits[2, 2099], logits[3, 9] = -torch.inf, -torch.inf, 30.0
    target = torch.tensor([2, 7, 8, 3, -100])
    batch = launch.Batch(logits.to(device), target.to(device), None, -100)
    counts = torch.tensor(COUNTS).repeat(200)[: MANY + 1].to(device)
    values, gradient = values_and_gradient(base, counts.to(torch.uint16), batch)
    assert values[:4].all()
    wanted = values_and_gradient(base, counts.float(), batch)
    order = {"rtol": 0, "atol": 0} if device == "cpu" else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(values, wanted[0], **order)  # a GPU may add up in another order
    torch.testing.assert_close(gradient, wanted[1], **({} if device == "cuda" else order))


@pytest.mark.parametrize("most", [261, pytest.param(2201, marks=pytest.mark.slow)])
@pytest.mark.parametrize("base", ["ce", "gce", pytest.param("mae", marks=pytest.mark.slow)])
def test_a_class_with_most_of_the_rows(base, most, device, monkeypatch):
    """Some rows do not count, and some have classes masked that others are labelled."""
    if device == "cpu":
        few_programs = Tile(128, 2048, 4, 8)
        monkeypatch.setattr(launch_blind, "PRIOR_TILE", few_programs)
        monkeypatch.setattr(launch_powers, "LONG_16", launch_powers.Cut(few_programs, few_programs))
    generator = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(most + 10, MANY, generator=generator)
    target = torch.tensor([7] * most + [2099] * 3 + [5, 0, 6] + [-100] * 4)
    logits[3, 2099] = logits[most + 1, 7] = logits[most + 4, 5] = -torch.inf
    logits, loss = logits.bfloat16(), losses.get(f"cr({base})", reduction="none")
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=2e-6)
    assert row_error(gradient, slope, 1e-2) < TOLERANCE[torch.bfloat16]
    assert not gradient[logits == -torch.inf].any()
    assert not gradient[target == -100].any()
