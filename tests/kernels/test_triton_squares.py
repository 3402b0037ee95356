"""Losses of the sum of p squared where a class is almost sure: no difference of near-equals may remain."""

import pytest
import torch
from row_batches import row_error, step

from noiseproof import losses
from noiseproof.kernels import Partials, Wanted, apply
from noiseproof.losses.statistics_loss import StatisticsLoss

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
SPECS = ["mse", "mse(alpha=0.3)", "mse + 2*gce", "peer(mse, alpha=0.5)"]
SIZES = [
    *(pytest.param(512, 10, 3.0 + seed, seed, marks=pytest.mark.slow) for seed in (0, 1)),
    *((128, 10, 4.0, 2), (12, 1000, 8.0, 3), (8, 4096, 10.0, 4)),
]
"""Rows, classes, spread of the logits and seed; more classes need wider logits for one to be sure."""


def batch(rows, classes, spread, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = spread * torch.randn(rows, classes, generator=generator)
    target = torch.randint(classes - 1, (rows,), generator=generator)
    target[1] = -100
    return logits, target


def error(loss, logits, target, device, **options):
    """Of the gradient against float64, every row measured by its own largest entry."""
    _, wanted = step(loss, logits.double(), target, **options)
    moved = {name: value.to(device) for name, value in options.items()}
    _, found = step(loss.to(device), logits.to(device), target.to(device), **moved)
    return row_error(found, wanted)


@pytest.mark.parametrize(("rows", "classes", "spread", "seed"), SIZES)
@pytest.mark.parametrize("spec", SPECS)
def test_every_row(spec, rows, classes, spread, seed, device):
    loss = losses.get(spec, reduction="sum").eval()
    assert error(loss, *batch(rows, classes, spread, seed), device) < 1e-5


@pytest.mark.parametrize("classes", [10, 5000])
def test_two_likeliest_classes_that_almost_tie(classes, device):
    """What is left of p - sum of p squared is the difference of their logits, from 1e-4 to 1."""
    logits, target = batch(48, classes, 3.0)
    target[target < 2] = 2
    logits[:, 0] = 32.0
    logits[:, 1] = 32.0 - torch.logspace(-4, 0, 48)
    logits[::2] = logits[::2].roll(-2, 1)  # far apart, so that other lanes and blocks meet them
    target[::2] = (target[::2] - 2).where(target[::2] != -100, -100)
    assert error(losses.get("mse", reduction="sum"), logits, target, device) < 1e-5


@pytest.mark.parametrize("spec", ["peer(mse, alpha=0.5)"])
def test_labels_that_count_apart(spec, device):
    """Rows that count under one of their two labels alone, or under both by different weights."""
    logits, target = batch(32, 10, 4.0)
    weight = torch.linspace(0, 2, 32) * (torch.arange(32) % 3 > 0)
    loss = losses.get(spec, reduction="sum").eval()
    assert error(loss, logits, target, device, sample_weight=weight) < 1e-5


class Purity(StatisticsLoss):
    """The sum of p squared and nothing else."""

    name = "purity"
    wanted = Wanted(squares=True)

    def value_and_partials(self, row, classes):
        return row.sum_p2, Partials(sum_p2=torch.ones_like(row.sum_p2))


@pytest.mark.parametrize("way", ["program", "torch", "compiled"])
def test_a_loss_of_the_sum_alone(way, device, monkeypatch):
    logits, target = batch(128, 10, 4.0)
    _, wanted = step(Purity(reduction="sum"), logits.double(), target)
    loss = Purity(reduction="sum")
    if way == "torch":
        monkeypatch.setattr(apply, "kernel_recording", lambda function: None)
    if way == "compiled":
        torch.compiler.reset()
        loss = torch.compile(loss, fullgraph=True, backend="aot_eager")
    assert row_error(step(loss, logits.to(device), target.to(device))[1], wanted) < 1e-5


def test_masked_classes(device):
    logits, target = batch(256, 10, 4.0)
    logits[::2, 9] = -torch.inf
    logits[::3, 3] = -torch.inf
    target[target == 3] = 2
    assert error(losses.get("mse", reduction="sum"), logits, target, device) < 1e-5


def test_one_class_left_is_nothing_to_learn(device):
    logits = torch.full((1, 4), -torch.inf, device=device)
    logits[0, 2] = 1.0
    value, gradient = step(losses.get("mse"), logits, torch.tensor([2], device=device))
    assert float(value) == 0.5
    assert not gradient.any()
