"""``noiseproof demo``: robust losses against cross entropy on digits with 40% wrong labels."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from torch import Tensor

LOSSES = ("ce", "gce(q=0.7)", "sl(alpha=0.01)", "imae(T=16)", "aul(a=2, q=2)", "unit_max(mae)")
NOISE = 0.4


def demo(
    seeds: Annotated[int, typer.Option(min=1, help="Runs per loss.")] = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 100,
) -> None:
    """Train a small network on digits with 40% symmetric label noise, once per loss and seed."""
    import torch
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    accuracy: dict[str, list[float]] = {spec: [] for spec in LOSSES}
    jobs = [(spec, seed) for spec in LOSSES for seed in range(seeds)]
    for spec, seed in track(jobs, description="training", transient=True):
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            accuracy[spec].append(train_and_test(spec, seed, epochs))
    table = Table(title="Digits, 40% of the training labels wrong", title_justify="left")
    for heading in ("loss", "final test accuracy %", "against ce"):
        table.add_column(heading, justify="left" if heading == "loss" else "right")
    baseline = statistics.mean(accuracy["ce"])
    for spec, found in accuracy.items():
        mean, spread = statistics.mean(found), statistics.stdev(found) if seeds > 1 else 0.0
        table.add_row(spec, f"{mean:.1f} ± {spread:.1f}", f"{mean - baseline:+.1f}")
    Console().print(table)


def train_and_test(spec: str, seed: int, epochs: int) -> float:
    """Final test accuracy in percent of one run."""
    import torch
    from torch import nn

    from ..losses import get

    torch.manual_seed(seed)
    inputs, labels, test_inputs, test_labels = noisy_digits(seed)
    first = [nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU()]
    second = [nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU()]
    model = nn.Sequential(*first, *second, nn.Linear(256, 10))
    loss = get(spec)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for batch in torch.split(torch.randperm(len(labels)), 128):
            optimizer.zero_grad()
            loss(model(inputs[batch]), labels[batch]).backward()
            optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        return 100 * float((model(test_inputs).argmax(1) == test_labels).float().mean())


def noisy_digits(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """1,400 training digits with symmetric noise, the rest with clean labels for the test."""
    import torch
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    inputs = torch.tensor(pixels, dtype=torch.float32) / 16 - 0.3
    clean = torch.tensor(digits)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(clean), generator=generator)
    train, test = order[:1400], order[1400:]
    wrong = (clean + torch.randint(1, 10, clean.shape, generator=generator)) % 10
    flipped = torch.rand(len(clean), generator=generator) < NOISE
    labels = torch.where(flipped, wrong, clean)
    return inputs[train], labels[train], inputs[test], clean[test]
