"""Parts of MNIST, CIFAR-10 and CIFAR-100 for experiments that fit a CPU.

python tables/small_scale/make_small_sets.py FOLDER    reads the full sets from $NOISEPROOF_DATA

Which samples are chosen is a function of their numbers alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from noiseproof.counter import draw
from noiseproof.data import load

SIZES = {"mnist": (10_000, 10_000), "cifar10": (10_000, 4_000), "cifar100": (12_000, 4_000)}
"""Training and test samples."""
STREAM = 77


def chosen(samples: int, count: int) -> torch.Tensor:
    order = draw(seed=0, epoch=0, index=torch.arange(samples), stream=STREAM).argsort()
    return order[:count].sort().values


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, counts in SIZES.items():
        arrays = {}
        for split, count in zip(("train", "test"), counts, strict=True):
            data = load(name, split=split)
            batch = data.batch(chosen(len(data), count))
            arrays[f"x_{split}"], arrays[f"y_{split}"] = batch.input.numpy(), batch.label.numpy().astype("u1")
        np.savez_compressed(folder / f"{name}_small.npz", **arrays)


if __name__ == "__main__":
    main()
