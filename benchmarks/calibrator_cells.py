"""Training cells of the calibrator of ``labels.find``: predictions of models where wrong labels are known.

    python benchmarks/calibrator_cells.py FOLDER [--jobs 2]

Every set of the groups ``tuned``, ``more`` and ``parts`` is taken clean and with seven kinds and rates of
noise drawn at random, so that the calibrator does not learn the rates of the benchmark. One .npz file per
cell; finished ones are kept. ``train_calibrator.py`` fits the calibrator to them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import zlib
from pathlib import Path

import everyday_sets as sets
import numpy as np
from joblib import Parallel, delayed
from sklearn.neighbors import NearestNeighbors

from noiseproof.data import LabelledData
from noiseproof.labels.cross_fit_models import Inputs, cross_fit
from noiseproof.labels.folds import split
from noiseproof.labels.posterior import posterior
from noiseproof.train import Config, fit

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
    return Inputs(task.dense.astype(np.float32), task.x)


def make_cell(name: str, noise: str, seed: int, folder: Path) -> None:
    path = folder / f"{name}-{noise.replace(' ', '_')}-{seed}.npz"
    if path.exists():
        return
    task = sets.make(name, noise, seed)
    began = time.process_time()
    rng = np.random.default_rng(seed)
    inputs, splits = inputs_of(task), split(task.label, 5, rows=task.x, seed=seed)
    first = cross_fit(inputs, task.label, task.classes, splits, seed=seed)
    said = posterior(list(first.values()), task.label)
    trust = said.true[np.arange(len(task.label)), task.label]
    second = cross_fit(inputs, task.label, task.classes, splits, weight=np.clip(trust, 1e-3, 1), seed=seed)
    took = time.process_time() - began
    halves = [(rng.permutation(known)[: len(known) // 2], predict) for known, predict in splits]
    half = cross_fit(inputs, task.label, task.classes, halves, names=("linear", "neighbours"), seed=seed)
    nearest = np.zeros((len(task.label), 20), np.int16)
    for known, predict in splits:
        count = min(20, len(known))
        found = NearestNeighbors(n_neighbors=count).fit(inputs.dense[known])
        nearest[predict, :count] = known[found.kneighbors(inputs.dense[predict], return_distance=False)]
    rounds = {f"1 {key}": value.astype(np.float32) for key, value in first.items()}
    rounds |= {f"2 {key}": value.astype(np.float32) for key, value in second.items()}
    rounds |= {f"0 {key}": value.astype(np.float32) for key, value in half.items()}
    part = path.with_suffix(".part")
    with open(part, "wb") as file:
        np.savez_compressed(file, label=task.label, clean=task.clean, seconds=took, nearest=nearest, **rounds)
    os.replace(part, path)
    print(f"{path.stem}: {took:.1f} s", flush=True)


def make_record(name: str, noise: str, seed: int, folder: Path) -> None:
    """The record of one run, with a loss, a network, a length and a learning rate drawn at random."""
    path = folder / f"{name}-{noise.replace(' ', '_')}-{seed}.npz"
    if path.exists():
        return
    task = sets.make(name, noise, seed)
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    model = rng.choice(["mlp", "mlp", "mlp(norm=True)", "mlp(hidden='')"])
    loss = rng.choice(["ce", "ce", "ce", "gce", "sl", "unit_max(mae)"])
    epochs, lr = (float(np.exp(rng.uniform(*np.log(ends)))) for ends in ((8, 120), (0.005, 0.1)))
    data = LabelledData(
        task.dense.astype(np.float32), task.label, class_names=[str(k) for k in range(task.classes)]
    )
    with tempfile.TemporaryDirectory() as out:
        config = Config(model=str(model), loss=str(loss), epochs=round(epochs), lr=lr, seed=seed, out=out)
        record = fit(config, data=data).record
    part = path.with_suffix(".part")
    with open(part, "wb") as file:
        np.savez_compressed(
            file,
            label=task.label,
            clean=task.clean,
            settings=f"{model} {loss} {epochs:.0f} {lr:.3f}",
            margin=record.margin.numpy(),
            prediction=record.prediction.numpy().astype(np.int16),
        )
    os.replace(part, path)
    print(f"{path.stem}: {model} {loss} {epochs:.0f} epochs", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--backwards", action="store_true", help="for a second process")
    parser.add_argument("--records", action="store_true", help="of training runs, instead of cross-fitting")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [name for group in ("tuned", "more", "parts", "drawn") for name in sets.available(group)[0]]
    todo = [(name, *cell) for number in range(len(KINDS)) for name in names for cell in [cells(name)[number]]]
    todo = [todo[k] for k in np.random.default_rng(0).permutation(len(todo))][
        :: -1 if options.backwards else 1
    ]
    make = make_record if options.records else make_cell
    Parallel(options.jobs)(delayed(make)(*cell, options.folder) for cell in todo)


if __name__ == "__main__":
    main()
