"""Every method and some losses on five sets with three kinds of wrong labels, five seeds each.

    python tables/methods/run.py [--seeds 5]

Appends a line per run to results/runs.csv and skips those that are there. Needs NOISEPROOF_DATA with
mnist.npz, and the sets of benchmarks/everyday_sets.py. Settings were fixed before any run: the defaults of
each method, except that what begins or grows over the first epochs does so over a fifth of the run, as the
papers' numbers of epochs belong to longer runs. What a method needs to know of the noise is given to it as
it really is: the share of wrong labels, or the matrix.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from noiseproof.data import LabelledData
from noiseproof.train import Config, Run, fit

HOME = Path(__file__).parent
sys.path.insert(0, str(HOME.parents[1] / "benchmarks"))
import everyday_sets  # noqa: E402

EPOCHS = {"digits": 30, "mnist": 15, "segment": 30, "crx": 30, "debian_10": 30}
"""About 120 steps, in which cross entropy learns 98% of 1,000 random labels of random inputs."""
NOISES = ("symmetric 40", "asymmetric 40", "annotators 40")
SETTINGS: dict[str, Any] = {
    "model": 'mlp(hidden="128",norm=True)',
    "lr": 0.1,
    "batch_size": 256,
    "record": False,
}
DROPOUTS = (0.2, 0.5, 0.8)
COLUMNS = ("seed", "data", "noise", "row", "wrong", "accuracy", "memorised", "seconds", "problem")


class Noisy(NamedTuple):
    """Data of one cell of the table."""

    train: LabelledData
    test: LabelledData
    wrong: float
    transition: np.ndarray


def noisy(name: str, kind: str, seed: int) -> Noisy:
    """Labels go wrong as in the everyday benchmark; of MNIST and the text there are 2,000 and 1,000."""
    if name in ("digits", "mnist"):
        x, x_test, given, clean, test_label = images(name, kind, seed)
    else:
        task = everyday_sets.make(name, kind, seed)
        x, x_test, given, clean, test_label = (
            *(task.dense, task.dense_test),
            *(task.label, task.clean, task.test_label),
        )
    names = [str(label) for label in range(int(max(clean.max(), given.max(), test_label.max())) + 1)]
    shared: dict[str, Any] = {"class_names": names, "duplicates": "ignore"}
    train = LabelledData(x.astype(np.float32), given, clean_label=clean, name=name, **shared)
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (clean, given), 1)
    counts[counts.sum(1) == 0] = np.eye(len(names))[counts.sum(1) == 0]
    test = LabelledData(x_test.astype(np.float32), test_label, clean_label=test_label, **shared)
    return Noisy(train, test, float((given != clean).mean()), counts / counts.sum(1, keepdims=True))


def images(name: str, kind: str, seed: int) -> tuple[np.ndarray, ...]:
    """Pixels from 0 to 1: for training, for annotators and for testing."""
    if name == "digits":
        x, label = load_digits(return_X_y=True)
        x, sizes = x / 16, (1078, 359, 360)
    else:
        found = np.load(Path(everyday_sets.os.environ["NOISEPROOF_DATA"]) / "mnist.npz")
        x, label, sizes = found["x_train"].reshape(60_000, -1), found["y_train"], (2000, 500, 2000)
    order = np.random.default_rng([seed, 1]).permutation(len(label))[: sum(sizes)]
    train, others, test = np.split(order, np.cumsum(sizes[:2]))
    pixels, label = (x / 255 if name == "mnist" else x), label.astype(np.int64)
    clean = label[train]
    given = everyday_sets.corrupted(
        kind, clean, seed, pixels[train], pixels[others], label[others], pixels[train]
    )
    return pixels[train], pixels[test], given, clean, label[test]


def rows(epochs: int, wrong: float, matrix: Path) -> dict[str, dict[str, Any]]:
    """Name of a row in the table to the settings in which it differs from cross entropy."""
    start, rate, right = epochs // 5, round(wrong, 3), round(1 - wrong, 3)
    losses = ("ce", "gce(q=0.7)", "sl", "imae", "gr")
    methods = {
        **{name: name for name in ("bootstrap_soft", "bootstrap_hard", "s_adaptation", "gls_sl")},
        "forward": f"forward(transition='{matrix}')",
        "backward": f"backward(transition='{matrix}')",
        "joint": f"joint(start={start})",
        "nal": f"nal(start={start})",
        "elr": "elr",
        "selc": f"selc(start={start})",
        "sop": "sop",
        "truncated_gce": f"truncated_gce(start={start})",
        "self_paced": f"self_paced(begin={min(0.5, right)}, end={right})",
        "mentornet_pd": f"mentornet_pd(percentile={right})",
        "d2l": "d2l",
        "decoupling": "decoupling",
        "co_teaching": f"co_teaching(noise_rate={rate}, gradual={start})",
        "elr_plus": "elr_plus",
        "divide_mix": f"divide_mix(warmup={start}, ramp={start})",
    }
    estimated = {
        "truncated_gce, by validation": f"truncated_gce(start={start}, by='validation')",
        "co_teaching, estimated rate": f"co_teaching(gradual={start})",
    }
    return {
        **{loss: {"loss": loss} for loss in losses},
        "ce, mixup=1": {"mixup": 1.0},
        "ce, weight_average=0.99": {"weight_average": 0.99},
        "forgetting": {"validation": 0.1},
        **{name: {"method": method} for name, method in methods.items()},
        **{name: {"method": method, "validation": 0.1} for name, method in estimated.items()},
    }


def trained(data: Noisy, epochs: int, seed: int, changes: dict[str, Any], folder: Path) -> Run:
    config = Config(**SETTINGS, epochs=epochs, seed=seed, evaluate_every=epochs)
    found = config.replace(out=str(folder), checkpoint_seconds=3600.0, **changes)
    return fit(found, data=data.train, test=data.test)


def searched(data: Noisy, epochs: int, seed: int, changes: dict[str, Any], folder: Path) -> Run:
    """Forgetting: the dropout with the highest accuracy on validation data with given labels."""
    runs = [
        trained(data, epochs, seed, {**changes, "dropout": share}, folder / str(share)) for share in DROPOUTS
    ]
    return max(runs, key=lambda run: run.metrics[-1]["validation_accuracy"])


def line_of(data: Noisy, epochs: int, seed: int, row: str, changes: dict[str, Any]) -> dict[str, Any]:
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        try:
            train = searched if row == "forgetting" else trained
            result = train(data, epochs, seed, changes, Path(folder) / "run").result or {}
        except (RuntimeError, ValueError) as problem:
            return {"problem": str(problem).splitlines()[0]}
    return {
        "accuracy": round(result["final_test_accuracy"], 4),
        "memorised": round(result["train"]["noisy_subset"], 4),
        "seconds": round(time.process_time() - begin, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=HOME / "results/runs.csv")
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        with options.out.open() as file:
            done = {(int(r["seed"]), r["data"], r["noise"], r["row"]) for r in csv.DictReader(file)}
    options.out.parent.mkdir(exist_ok=True)
    with options.out.open("a", newline="") as file, tempfile.TemporaryDirectory() as folder:
        table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if not done:
            table.writeheader()
        for seed in range(options.seeds):
            for name, epochs in EPOCHS.items():
                for kind in NOISES:
                    data, matrix = noisy(name, kind, seed), Path(folder) / "matrix.npy"
                    np.save(matrix, data.transition)
                    for row, changes in rows(epochs, data.wrong, matrix).items():
                        key = {"seed": seed, "data": name, "noise": kind, "row": row}
                        if tuple(key.values()) not in done:
                            found = line_of(data, epochs, seed, row, changes)
                            table.writerow({**key, "wrong": round(data.wrong, 4), **found})
                            file.flush()


if __name__ == "__main__":
    main()
