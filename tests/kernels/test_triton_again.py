"""Rows a series does not do for: few programs look for them, wherever they are, and end what concerns all."""

import pytest
import torch
from row_batches import row_error, step

from noiseproof import losses
from noiseproof.kernels.triton import launch_again, start
from noiseproof.kernels.triton.tile import tile_of

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
ROWS, CLASSES = 5, 2100
IGNORED = 2
LEFT = {"none": [], "of one program": [0, 3], "all": [0, 1, 3, 4]}
NAMES = ["series_kernel", "blind_again_kernel", "series_gradient_kernel", "gradient_again_kernel"]
slow = pytest.mark.slow


@pytest.fixture
def heard(monkeypatch):
    """Launches from Python in which three programs look at two rows each: one row more than there are."""
    found = []
    monkeypatch.setattr(launch_again, "PROGRAMS", 2)
    monkeypatch.setattr(start, "_hear", lambda *launch: found.append(start.Heard(*launch)))
    return found


def batch(left, masked):
    """Likely classes next to each other, or masked ones, are no matter for a series."""
    generator = torch.Generator().manual_seed(1)
    logits = 0.1 * torch.randn(ROWS, CLASSES, generator=generator)
    target = torch.randint(100, CLASSES, (ROWS,), generator=generator)
    for row in left:
        logits[row, 64:68] = -torch.inf if masked else 9.0
    target[IGNORED] = -100
    logits[IGNORED] = torch.nan
    return logits, target


def name_of(launch):
    """Of a kernel that was compiled, or else interpreted."""
    return getattr(launch.compiled, "name", None) or launch.compiled.fn.__name__


@pytest.mark.parametrize("reduction", ["mean", pytest.param("none", marks=slow)])
@pytest.mark.parametrize("masked", [True, pytest.param(False, marks=slow)])
@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("spec", ["nfl", "10*nce + nfl"])
def test_rows_that_are_left(spec, left, masked, reduction, device, heard):
    """Neither the mean nor the sum of two losses is a launch of its own."""
    loss, (logits, target) = losses.get(spec, reduction=reduction), batch(LEFT[left], masked)
    wanted, slope = step(loss, logits.double(), target)
    heard.clear()
    found, gradient = step(loss, logits.to(device), target.to(device))
    assert [name_of(launch) for launch in heard] == NAMES
    assert heard[1].grid == heard[3].grid == (3, 1, 1)
    assert heard[1].arguments[3][3].nonzero().flatten().tolist() == LEFT[left]
    torch.testing.assert_close(found, wanted, rtol=5e-6, atol=0)
    assert row_error(gradient, slope) < 5e-6
    assert not gradient[IGNORED].any()


@pytest.mark.parametrize("spec", ["nfl", "10*nce + nfl"])
def test_blocks_of_unlikely_classes_in_rows_with_likely_ones(spec, device):
    """One class that is sure, three that share a row, one beside many, each in the first of three blocks."""
    logits = torch.randn(3, 2 * 2048 + 100, generator=torch.Generator().manual_seed(2))
    logits[0, 9], logits[1, [5, 70, 800]], logits[2, 3] = 14.0, 9.0, 7.5
    target = torch.tensor([4000, 5, 2500])
    wanted, slope = step(losses.get(spec), logits.double(), target)
    found, gradient = step(losses.get(spec), logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=5e-6, atol=0)
    assert row_error(gradient, slope) < 5e-6
    unlikely = slice(2048, 4000)
    assert row_error(gradient[:, unlikely], slope[:, unlikely], 1e-9) < 2e-5


@slow
def test_a_row_with_few_classes_that_are_not_masked(device):
    """What the series leaves out is small beside the classes that are there, not beside all."""
    logits = torch.full((1, 64 * 2048), -torch.inf)
    logits[0, :2048] = 0.1 * torch.randn(2048, generator=torch.Generator().manual_seed(1))
    logits[0, 5], logits[0, 2100] = logits[0, :2048].logsumexp(0) - 2.2, 0.0
    loss, target = losses.get("nfl(gamma=4)"), torch.tensor([2100])
    _, slope = step(loss, logits.double(), target)
    _, gradient = step(loss, logits.to(device), target.to(device))
    assert row_error(gradient, slope) < 1e-6


def test_without_a_ticket_a_kernel_of_its_own_takes_the_mean(device, heard, monkeypatch):
    monkeypatch.setattr("noiseproof.kernels.triton.launch_mean.next_ticket", lambda logits: None)
    logits, target = batch([1], True)
    wanted, _ = step(losses.get("nfl"), logits.double(), target)
    heard.clear()
    found, _ = step(losses.get("nfl"), logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=5e-6, atol=0)
    assert name_of(heard[2]) == "mean_kernel"


@pytest.mark.parametrize("classes", [2049, 32000, 128256])
@pytest.mark.parametrize("rows", [1, 300, 8192, 100_000])
def test_programs_of_a_gradient_are_not_too_many_and_take_all_classes(rows, classes):
    tile = tile_of(classes, rows)
    programs = -(-rows // launch_again.rows_looked_at(rows))
    width = tile.block * launch_again.blocks_written(tile, programs, classes)
    across = -(-classes // width)
    assert programs * across <= max(programs, launch_again.PROGRAMS)
    assert across * width >= classes
