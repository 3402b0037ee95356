"""Cells from which the judge of ``labels.find`` learns: what the witnesses say where wrong labels are known.

    python benchmarks/judge_cells.py FOLDER [--jobs 2]

Every set of the groups ``tuned`` and ``more`` is taken clean and with seven kinds and rates of noise drawn at
random, so that the judge does not learn the rates of the benchmark. One .npz file per cell; finished ones are
kept. ``learn_judge.py`` fits the judge to them.
"""

from __future__ import annotations

import argparse
import os
import time
import zlib
from pathlib import Path

import everyday_sets as sets
import numpy as np
from joblib import Parallel, delayed

from noiseproof.labels.folds import split
from noiseproof.labels.posterior import posterior
from noiseproof.labels.witnesses import Inputs, cross_fit

KINDS = (
    "clean",
    "symmetric",
    "symmetric",
    "asymmetric",
    "asymmetric",
    "annotators",
    "annotators",
    "instance",
)
RATES = {"symmetric": (5, 56), "asymmetric": (5, 41), "annotators": (10, 41), "instance": (10, 41)}


def cells(name: str) -> list[tuple[str, int]]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [
        ("clean" if kind == "clean" else f"{kind} {rng.integers(*RATES[kind])}", 100 + number)
        for number, kind in enumerate(KINDS)
    ]


def inputs_of(task: sets.Task) -> Inputs:
    return Inputs(task.dense.astype(np.float32), task.x, task.dense.astype(np.float32))


def make_cell(name: str, noise: str, seed: int, folder: Path) -> None:
    path = folder / f"{name}-{noise.replace(' ', '_')}-{seed}.npz"
    if path.exists():
        return
    task = sets.make(name, noise, seed)
    began = time.process_time()
    inputs, splits = inputs_of(task), split(task.label, 5, rows=task.x, seed=seed)
    first = cross_fit(inputs, task.label, task.classes, splits, seed=seed)
    found = posterior(list(first.values()), task.label)
    trust = found.true[np.arange(len(task.label)), task.label]
    second = cross_fit(inputs, task.label, task.classes, splits, weight=np.clip(trust, 1e-3, 1), seed=seed)
    took = time.process_time() - began
    rounds = {f"1 {key}": value.astype(np.float32) for key, value in first.items()}
    rounds |= {f"2 {key}": value.astype(np.float32) for key, value in second.items()}
    part = path.with_suffix(".part")
    with open(part, "wb") as file:
        np.savez_compressed(file, label=task.label, clean=task.clean, seconds=took, **rounds)
    os.replace(part, path)
    print(f"{path.stem}: {took:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [name for group in ("tuned", "more") for name in sets.available(group)[0]]
    todo = [(name, *cell) for number in range(len(KINDS)) for name in names for cell in [cells(name)[number]]]
    Parallel(options.jobs)(delayed(make_cell)(*cell, options.folder) for cell in todo)


if __name__ == "__main__":
    main()
