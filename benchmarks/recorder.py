"""What recording costs per sample: python benchmarks/recorder.py."""

from __future__ import annotations

import argparse
import time

import torch

from noiseproof.dynamics.epoch_table import EpochTable
from noiseproof.losses import margin

SAMPLES = 50_000


def seconds_per_sample(work, batches, device, rounds=5):
    """The best of some rounds over all batches."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for batch in batches:
            work(batch)
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best / SAMPLES


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = torch.device(parser.parse_args().device)
    print(f"{device}, torch {torch.__version__}, microseconds per sample, {SAMPLES} samples")
    print(f"{'batch':>6} {'classes':>8} {'write':>8} {'margin + prediction + write':>28}")
    for size in (128, 512):
        for classes in (10, 100):
            recorder = EpochTable(torch.arange(SAMPLES, device=device))
            logits, label = (
                torch.randn(size, classes, device=device),
                torch.zeros(size, dtype=torch.int64, device=device),
            )
            delta, prediction = margin(logits, label), logits.argmax(1)
            batches = torch.randperm(SAMPLES, device=device).split(size)
            write = seconds_per_sample(
                lambda at, r=recorder, d=delta, p=prediction: r.write(at, d[: len(at)], p[: len(at)]),
                batches,
                device,
            )
            whole = seconds_per_sample(
                lambda at, r=recorder, z=logits, y=label: r.write(
                    at, margin(z[: len(at)], y[: len(at)]), z[: len(at)].argmax(1)
                ),
                batches,
                device,
            )
            print(f"{size:>6} {classes:>8} {1e6 * write:>8.3f} {1e6 * whole:>28.3f}")


if __name__ == "__main__":
    main()
