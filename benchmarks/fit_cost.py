"""CPU time of ``fit`` beside a plain torch loop on a table of 1,500 rows and 36 columns.

    python benchmarks/fit_cost.py [--rounds 5] [--epochs 100]

Both train the same network (mlp: 36, 256, 256, 6) with cross entropy, SGD with momentum and a cosine
schedule; ``fit`` also checks, records and keeps the run. What is told is the smallest CPU time over the
rounds, in which they take turns, and the ratio to the plain loop; ``loss`` is the same run with torch's own
cross entropy in place of ours, so that the difference is what the loss costs. One thread, unless
OMP_NUM_THREADS is set.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from noiseproof.data import LabelledData
from noiseproof.methods import LossMethod
from noiseproof.train import Config, fit

ROWS, COLUMNS, CLASSES, BATCH = 1500, 36, 6, 128


def table() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(ROWS, COLUMNS, generator=generator)
    return rows, (rows @ torch.randn(COLUMNS, CLASSES, generator=generator)).argmax(1)


def plain(rows: Tensor, label: Tensor, epochs: int) -> None:
    hidden = [nn.Linear(COLUMNS, 256), nn.ReLU(inplace=True), nn.Linear(256, 256), nn.ReLU(inplace=True)]
    network = nn.Sequential(*hidden, nn.Linear(256, CLASSES))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * math.ceil(ROWS / BATCH))
    for _ in range(epochs):
        order = torch.randperm(ROWS)
        for start in range(0, ROWS, BATCH):
            part = order[start : start + BATCH]
            loss = cross_entropy(network(rows[part]), label[part])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()


def ours(rows: Tensor, label: Tensor, epochs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fit(Config(epochs=epochs, device="cpu", out=f"{folder}/run"), data=LabelledData(rows, label))


def with_torch_loss(rows: Tensor, label: Tensor, epochs: int) -> None:
    def loss(self, outputs, batch, epoch):
        return cross_entropy(outputs[0].logits, batch.label)

    with patch.object(LossMethod, "loss", loss):
        ours(rows, label, epochs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=100)
    options = parser.parse_args()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    ways = {"plain": plain, "fit": ours, "loss": with_torch_loss}
    data, times = table(), dict.fromkeys(ways, math.inf)
    for way in ways.values():
        way(*data, 2)
    for _ in range(options.rounds):
        for name, way in ways.items():
            begin = time.process_time()
            way(*data, options.epochs)
            times[name] = min(times[name], time.process_time() - begin)
    ratios = {name: round(seconds / times["plain"], 3) for name, seconds in times.items()}
    seconds = {name: round(number, 2) for name, number in times.items()}
    print(json.dumps({"threads": torch.get_num_threads(), "seconds": seconds, "ratio": ratios}))


if __name__ == "__main__":
    main()
