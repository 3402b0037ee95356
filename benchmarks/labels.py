"""Finding wrong labels beside cleanlab: quality on digits and MNIST, speed and memory on 1M x 100.

Quality: one training per setting gives the record (``labels.find(record)``); cleanlab gets 5-fold
cross-validated probabilities of the same network, data, loss and schedule, and the final network's own. AP
and AUROC are those of ranking wrong labels first, cleanlab's being its best over its three ranking methods,
chosen with the truth at hand; F1 is that of the labels each marks, best F1 that of the best threshold of the
same ranking. Cost is what comes on top of the one training that gives a user a network: judging, and for
cleanlab the five trainings of cross-validation, in seconds of CPU and of the clock, on one thread.
Speed: interleaved rounds in one process; memory: peak beyond the start, one process each.

    python benchmarks/labels.py [--seeds 11,12,13] [--mnist FOLDER] [--images 10000] [--cache FOLDER]

Needs cleanlab 2.9. Writes benchmarks/labels.json and benchmarks/labels.md.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from cleanlab.count import estimate_py_and_noise_matrices_from_probabilities
from cleanlab.experimental.label_issues_batched import find_label_issues_batched
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from labels_tables import markdown
from torch import Tensor, nn

from noiseproof import labels, losses, noise
from noiseproof.dynamics import Record, Recorder

NOISES = ("symmetric(0.2)", "symmetric(0.4)", "asymmetric(0.4, map='mnist')")
LOSSES = ("ce", "unit_max(mae)", "gce")
SCHEDULES = {"digits": (100, 128, 0.05), "digits, short": (15, 128, 0.05), "mnist": (10, 128, 0.05)}
"""Epochs, batch size, learning rate (SGD, momentum 0.9, weight decay 5e-4, cosine)."""
FOLDS = 5
MNIST_SEEDS = (11, 21)
METHODS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
SPEED_SHAPE = (1_000_000, 100)
Made = dict[str, np.ndarray]


def load(data: str, folder: Path | None, images: int) -> tuple[Tensor, Tensor]:
    if data != "mnist":
        from sklearn.datasets import load_digits

        pixels, digits = load_digits(return_X_y=True)
        return torch.tensor(pixels, dtype=torch.float32) / 16 - 0.3, torch.tensor(digits)
    with np.load(folder / "mnist.npz") as file:
        pixels, digits = file["x_train"][:images], file["y_train"][:images]
    inputs = (torch.tensor(pixels).float() / 255 - 0.1307) / 0.3081
    return inputs.flatten(1), torch.tensor(digits).long()


def network(pixels: int) -> nn.Module:
    first = [nn.Linear(pixels, 256), nn.BatchNorm1d(256), nn.ReLU()]
    second = [nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU()]
    return nn.Sequential(*first, *second, nn.Linear(256, 10))


def train(data: str, inputs: Tensor, label: Tensor, spec: str, seed: int) -> tuple[nn.Module, Tensor, Tensor]:
    """The network, and margins (E, N) and predictions (E, N) as they were in training."""
    epochs, batch_size, lr = SCHEDULES[data]
    torch.manual_seed(seed)
    model, loss = network(inputs.shape[1]), losses.get(spec)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    order, recorder = torch.Generator().manual_seed(seed), Recorder(len(label))
    for _ in range(epochs):
        model.train()
        for batch in torch.split(torch.randperm(len(label), generator=order), batch_size):
            if len(batch) < 2:
                continue
            optimizer.zero_grad()
            logits = model(inputs[batch])
            loss(logits, label[batch]).backward()
            optimizer.step()
            recorder.write(batch, logits, label[batch])
        schedule.step()
        recorder.end_epoch()
    model.eval()
    record = recorder.record()
    return model, record.margin, record.prediction


@torch.no_grad()
def probabilities(model: nn.Module, inputs: Tensor) -> Tensor:
    return torch.cat([model(part).softmax(1) for part in torch.split(inputs, 500)])


def cross_validated(data: str, inputs: Tensor, label: Tensor, spec: str, seed: int) -> Tensor:
    fold = torch.randperm(len(label), generator=torch.Generator().manual_seed(seed + 77)) % FOLDS
    crossed = torch.zeros(len(label), 10)
    for k in range(FOLDS):
        inside, outside = (fold != k).nonzero().squeeze(1), (fold == k).nonzero().squeeze(1)
        model = train(data, inputs[inside], label[inside], spec, seed + k)[0]
        crossed[outside] = probabilities(model, inputs[outside])
    return crossed


def run(data: str, inputs: Tensor, clean: Tensor, spec: str, kind: str, seed: int) -> Made:
    """One training with its record, five more for cross-validated probabilities, and their seconds."""
    label = noise.corrupt(clean, kind, num_classes=10, seed=seed).labels
    (model, margin, prediction), *once = timed(lambda: train(data, inputs, label, spec, seed))
    crossed, *folds = timed(lambda: cross_validated(data, inputs, label, spec, seed))
    found = {"label": label, "clean": clean, "margin": margin, "pred": prediction}
    found |= {"final": probabilities(model, inputs), "kfold": crossed}
    return {**{name: tensor.numpy() for name, tensor in found.items()}, "seconds": np.array([once, folds])}


def timed(call):
    """What it returns, seconds of CPU, seconds of the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    found = call()
    return found, time.process_time() - processor, time.perf_counter() - clock


def cached(folder: Path | None, name: str, make) -> Made:
    path = None if folder is None else folder / f"{name}.npz"
    if path is not None and path.is_file():
        with np.load(path) as file:
            return dict(file)
    made = make()
    if path is not None:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **made)
    return made


def ranking(flipped: np.ndarray, score: np.ndarray, marked: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve, roc_auc_score

    precision, recall, _ = precision_recall_curve(flipped, -score)
    return {
        "ap": float(average_precision_score(flipped, -score)),
        "auroc": float(roc_auc_score(flipped, -score)),
        "f1": float(f1_score(flipped, marked)),
        "best_f1": float((2 * precision * recall / np.maximum(precision + recall, 1e-12)).max()),
        "rate": float(marked.mean()),
        "true_rate": float(flipped.mean()),
    }


def judge(made: Made) -> dict[str, dict[str, float]]:
    """Quality and cost of every contender on one run."""
    label, margin, prediction = (torch.tensor(made[name]) for name in ("label", "margin", "pred"))
    record = Record(torch.arange(len(label)), label, None, tuple("0123456789"), margin, prediction)
    (training, training_clock), (folds, folds_clock) = made["seconds"].tolist()
    table, given = made["kfold"], made["label"]
    rows = {
        "noiseproof": our_row(made, lambda: labels.find(record)),
        "noiseproof, 5-fold": our_row(made, lambda: labels.find(probabilities=table, label=given)),
        "noiseproof, both": our_row(made, lambda: labels.find(record, probabilities=table)),
        "cleanlab, 5-fold": cleanlab_row(made, table),
        "cleanlab, final": cleanlab_row(made, made["final"]),
    }
    for name, row in rows.items():
        if name not in ("noiseproof", "cleanlab, final"):
            row["cost"], row["clock"] = row["cost"] + folds, row["clock"] + folds_clock
        row["training"], row["training_clock"] = training, training_clock
    return rows


def our_row(made: Made, judgement) -> dict[str, float]:
    found, cost, clock = timed(judgement)
    row = ranking(
        made["label"] != made["clean"], found.label_score.to_numpy(), found.is_label_issue.to_numpy()
    )
    return row | matrix_error(made, np.array(found.attrs["transition"])) | {"cost": cost, "clock": clock}


def cleanlab_row(made: Made, table: np.ndarray) -> dict[str, float]:
    label, flipped = made["label"], made["label"] != made["clean"]
    marked, cost, clock = timed(lambda: find_label_issues(label, table, n_jobs=1))
    scores = [get_label_quality_scores(label, table, method=method) for method in METHODS]
    best = max((ranking(flipped, score, marked) for score in scores), key=lambda row: row["ap"])
    estimated = estimate_py_and_noise_matrices_from_probabilities(label, table)[1].T
    return best | matrix_error(made, estimated) | {"cost": cost, "clock": clock}


def matrix_error(made: Made, estimated: np.ndarray) -> dict[str, float]:
    """Mean over classes of the share of labels an estimated transition matrix sends to a wrong class."""
    counts = np.zeros((10, 10))
    np.add.at(counts, (made["clean"], made["label"]), 1)
    truth = counts / counts.sum(1, keepdims=True)
    return {"matrix_error": float(np.abs(estimated - truth).sum(1).mean() / 2)}


def quality(options: argparse.Namespace) -> dict[str, dict[str, dict[str, float]]]:
    """Setting to contender to mean over seeds."""
    found = {}
    for data in SCHEDULES if options.mnist else [name for name in SCHEDULES if name != "mnist"]:
        inputs, clean = load(data, options.mnist, options.images)
        for spec in LOSSES:
            for kind in NOISES:
                rows = []
                for seed in MNIST_SEEDS if data == "mnist" else options.seeds:
                    name = f"{data}, {spec}, {kind}".replace("'", "")
                    make = lambda: run(data, inputs, clean, spec, kind, seed)  # noqa: B023, E731
                    rows.append(judge(cached(options.cache, f"{name}, {seed}", make)))
                    print(name, seed, {k: round(row["ap"], 4) for k, row in rows[-1].items()}, flush=True)
                found[name] = mean_of(rows)
    return found


def mean_of(rows: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {
        name: {key: statistics.mean(row[name][key] for row in rows) for key in rows[0][name]}
        | {"seeds": len(rows), "least_lead": min(lead(row) for row in rows)}
        for name in rows[0]
    }


def lead(row: dict[str, dict[str, float]]) -> float:
    """How far the record's average precision is above the better of cleanlab's two."""
    return row["noiseproof"]["ap"] - max(row["cleanlab, 5-fold"]["ap"], row["cleanlab, final"]["ap"])


def big_problem(shape: tuple[int, int] = SPEED_SHAPE) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities made in place, so that nothing larger than the input was ever there; 20% wrong labels."""
    samples, classes = shape
    generator = np.random.default_rng(0)
    table, clean = np.empty(shape, np.float32), generator.integers(classes, size=samples)
    for start in range(0, samples, 20_000):
        part = slice(start, start + 20_000)
        generator.standard_normal(out=table[part], dtype=np.float32)
        table[part][np.arange(len(table[part])), clean[part]] += 6
        np.exp(table[part], out=table[part])
        table[part] /= table[part].sum(1, keepdims=True)
    wrong = generator.random(samples) < 0.2
    return table, np.where(wrong, generator.integers(classes, size=samples), clean)


CONTENDERS = {
    "noiseproof": lambda table, given: labels.find(probabilities=table, label=given),
    "cleanlab": lambda table, given: (
        find_label_issues(given, table, n_jobs=1),
        get_label_quality_scores(given, table),
    ),
    "cleanlab, batched": lambda table, given: find_label_issues_batched(
        given, table, verbose=False, return_mask=True
    ),
}


def peak_of(name: str) -> None:
    """In a process of its own: the peak in bytes, per byte of the input, which is part of it."""
    CONTENDERS[name](*big_problem((1000, 10)))
    table, given = big_problem()
    before = peak()
    CONTENDERS[name](table, given)
    print(1 + (peak() - before) / table.nbytes)


def peak() -> int:
    """Of this process since it was started, in bytes; what getrusage says begins with its parent's."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return 1024 * int(line.split()[1])


def speed(rounds: int) -> dict[str, dict[str, float]]:
    """Median seconds of CPU on one thread, least seconds of the clock on one and on all; peak memory."""
    problem, found = big_problem(), {}
    seconds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name, judge_all in CONTENDERS.items():
            torch.set_num_threads(1)
            alone = timed(lambda: judge_all(*problem))[1:]  # noqa: B023
            torch.set_num_threads(os.cpu_count() or 1)
            seconds[name].append((*alone, timed(lambda: judge_all(*problem))[2]))  # noqa: B023
    for name, times in seconds.items():
        command = [sys.executable, __file__, "--peak-of", name]
        last_line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]  # noqa: S603
        processor, one, every = zip(*times, strict=True)
        found[name] = {"cpu": statistics.median(processor), "one_thread": min(one), "all_threads": min(every)}
        found[name]["memory"] = float(last_line)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[11, 12, 13])
    parser.add_argument("--mnist", type=Path, default=None, help="folder with mnist.npz; none: digits only")
    parser.add_argument("--images", type=int, default=10_000, help="so many of MNIST")
    parser.add_argument(
        "--cache", type=Path, default=None, help="folder for the records, to judge them again"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("quality", "speed"), default=None)
    parser.add_argument("--peak-of", default=None, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if options.peak_of:
        peak_of(options.peak_of)
        return
    result = json.loads(options.out.read_text()) if options.out.is_file() else {}
    if options.only != "speed":
        torch.set_num_threads(1)
        result["quality"] = quality(options)
        result["asked"] = {
            "seeds": options.seeds,
            "images of MNIST": options.images,
            "its seeds": MNIST_SEEDS,
        }
    if options.only != "quality":
        result["speed"] = speed(options.rounds)
    packages = {name: version(name) for name in ("torch", "cleanlab", "numpy", "pandas")}
    result["about"] = {**packages, "machine": platform.machine(), "cores": os.cpu_count()}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    options.out.with_suffix(".md").write_text(markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main()
