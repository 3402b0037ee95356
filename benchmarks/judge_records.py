"""Training records from which the judge of ``labels.find`` learns to read records.

    python benchmarks/judge_records.py FOLDER [--jobs 2]

The cells of ``judge_cells.py``, each trained once with a loss, a model, a learning rate and a number of
epochs drawn at random: what the record says in each stage of the training, with the labels that are wrong.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
import zlib
from pathlib import Path

import everyday_sets as sets
import numpy as np
from joblib import Parallel, delayed
from judge_cells import cells

from noiseproof.data import LabelledData
from noiseproof.labels.record_stages import stages
from noiseproof.train import Config, fit

LOSSES = ("ce", "ce", "ce", "gce(q=0.7)", "sl(alpha=0.1, beta=1.0)", "imae(T=8.0)", "gce(q=0.4)")
CELLS = (0, 1, 3, 5, 7)
"""One of each kind of noise."""
MODELS = ("mlp", "mlp(standardize=True)", "linear")


def make_cell(name: str, noise: str, seed: int, folder: Path) -> None:
    path = folder / f"{name}-{noise.replace(' ', '_')}-{seed}.npz"
    if path.exists():
        return
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    task = sets.make(name, noise, seed)
    data = LabelledData(
        task.dense.astype(np.float32), task.label, class_names=[str(k) for k in range(task.classes)]
    )
    with tempfile.TemporaryDirectory() as out:
        config = Config(
            loss=str(rng.choice(LOSSES)),
            model=str(rng.choice(MODELS)),
            epochs=int(rng.choice([20, 50, 100])),
            lr=float(rng.choice([0.01, 0.03, 0.1])),
            seed=seed,
            out=out,
        )
        record = fit(config, data=data).record
    rounds = {f"{number} record": value for number, value in enumerate(stages(record), 1)}
    rows = record.index.numpy()
    part = path.with_suffix(".part")
    with open(part, "wb") as file:
        np.savez_compressed(
            file,
            label=task.label[rows],
            clean=task.clean[rows],
            config=f"{config.loss} {config.model} {config.epochs}",
            **rounds,
        )
    os.replace(part, path)
    print(path.stem, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [name for group in ("tuned", "more") for name in sets.available(group)[0]]
    todo = [(name, *cell) for number in CELLS for name in names for cell in [cells(name)[number]]]
    Parallel(options.jobs)(delayed(make_cell)(*cell, options.folder) for cell in todo)


if __name__ == "__main__":
    main()
