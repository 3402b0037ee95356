"""Finding wrong labels beside cleanlab: quality on digits and MNIST, speed and memory on 1M x 100.

Quality: one training per setting gives the record (``labels.find(record)``); cleanlab gets 5-fold
cross-validated probabilities of the same network, data, loss and schedule, and the final network's own. AP
and AUROC are those of ranking wrong labels first; F1 is that of the labels each marks, "best F1" that
of the best threshold of the same ranking. Cleanlab's AP is its best over its ranking methods. Cost is CPU
time beyond the one training that gives a user a network: judging, and for cleanlab the five trainings of
cross-validation.
Speed: medians of interleaved rounds in one process; memory: peak beyond the start, one process each.

    python benchmarks/labels.py [--seeds 0,1,2] [--mnist FOLDER] [--images 3000] [--cache FOLDER]

Needs cleanlab 2.9 for its columns. Writes benchmarks/labels.json and benchmarks/labels.md.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from noiseproof import labels, losses, models, noise
from noiseproof.dynamics import Record, Recorder

NOISES = ("symmetric(0.2)", "symmetric(0.4)", "asymmetric(0.4, map='mnist')")
LOSSES = ("ce", "unit_max(mae)", "gce")
SCHEDULES = {"digits": (100, 128, 0.05), "mnist": (8, 64, 0.02)}
"""Epochs, batch size, learning rate (SGD, momentum 0.9, weight decay 5e-4, cosine)."""
FOLDS = 5
METHODS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
SPEED_SHAPE = (1_000_000, 100)


def load(data: str, folder: Path | None, images: int) -> tuple[Tensor, Tensor]:
    if data == "digits":
        from sklearn.datasets import load_digits

        pixels, digits = load_digits(return_X_y=True)
        return torch.tensor(pixels, dtype=torch.float32) / 16 - 0.3, torch.tensor(digits)
    with np.load(folder / "mnist.npz") as file:
        pixels, digits = file["x_train"][:images], file["y_train"][:images]
    inputs = (torch.tensor(pixels).float() / 255 - 0.1307) / 0.3081
    return inputs[:, None].contiguous(memory_format=torch.channels_last), torch.tensor(digits).long()


def network(data: str, seed: int) -> nn.Module:
    if data == "mnist":
        made = models.get("cnn4", num_classes=10, in_channels=1, image_size=28, seed=seed)
        return made.to(memory_format=torch.channels_last)
    first = [nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU()]
    second = [nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU()]
    return nn.Sequential(*first, *second, nn.Linear(256, 10))


def train(data: str, inputs: Tensor, label: Tensor, spec: str, seed: int) -> tuple[nn.Module, Tensor, Tensor]:
    """The network, and margins (E, N) and predictions (E, N) as they were in training."""
    epochs, batch_size, lr = SCHEDULES[data]
    torch.manual_seed(seed)
    model, loss = network(data, seed), losses.get(spec)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    order, recorder, rows = torch.Generator().manual_seed(seed), Recorder(torch.arange(len(label))), []
    for _ in range(epochs):
        model.train()
        for batch in torch.split(torch.randperm(len(label), generator=order), batch_size):
            if len(batch) < 2:
                continue
            optimizer.zero_grad()
            logits = model(inputs[batch])
            loss(logits, label[batch]).backward()
            optimizer.step()
            recorder.write(batch, losses.margin(logits.detach(), label[batch]), logits.argmax(1))
        schedule.step()
        rows.append(recorder.epoch())
        recorder.forget()
    model.eval()
    return (
        model,
        torch.stack([r["margin"] for r in rows]),
        torch.stack([r["prediction"].clone() for r in rows]),
    )


@torch.no_grad()
def probabilities(model: nn.Module, inputs: Tensor) -> Tensor:
    return torch.cat([model(part).softmax(1) for part in torch.split(inputs, 500)])


def run(data: str, inputs: Tensor, clean: Tensor, spec: str, kind: str, seed: int) -> dict[str, np.ndarray]:
    """One training with its record, five more for cross-validated probabilities, and their CPU seconds."""
    label = noise.corrupt(clean, kind, num_classes=10, seed=seed).labels
    start = time.process_time()
    model, margin, prediction = train(data, inputs, label, spec, seed)
    final = probabilities(model, inputs)
    once, start = time.process_time() - start, time.process_time()
    fold = torch.randperm(len(label), generator=torch.Generator().manual_seed(seed + 77)) % FOLDS
    crossed = torch.zeros(len(label), 10)
    for k in range(FOLDS):
        inside, outside = (fold != k).nonzero().squeeze(1), (fold == k).nonzero().squeeze(1)
        model = train(data, inputs[inside], label[inside], spec, seed + k)[0]
        crossed[outside] = probabilities(model, inputs[outside])
    seconds = np.array([once, time.process_time() - start])
    found = {
        "label": label,
        "clean": clean,
        "margin": margin,
        "pred": prediction,
        "final": final,
        "kfold": crossed,
    }
    return {**{name: tensor.numpy() for name, tensor in found.items()}, "t": seconds}


def cached(folder: Path | None, name: str, make) -> dict[str, np.ndarray]:
    path = None if folder is None else folder / f"{name}.npz"
    if path is not None and path.is_file():
        with np.load(path) as file:
            return dict(file)
    made = make()
    if path is not None:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **made)
    return made


def ranking(flipped: np.ndarray, score: np.ndarray, marked: np.ndarray | None) -> dict[str, float]:
    from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve, roc_auc_score

    precision, recall, _ = precision_recall_curve(flipped, -score)
    best = float((2 * precision * recall / np.maximum(precision + recall, 1e-12)).max())
    found = {
        "ap": float(average_precision_score(flipped, -score)),
        "auroc": float(roc_auc_score(flipped, -score)),
    }
    return found | ({} if marked is None else {"f1": float(f1_score(flipped, marked)), "best_f1": best})


def judge(made: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Quality and cost of every contender on one run."""
    flipped = made["label"] != made["clean"]
    columns = {name: torch.tensor(made[name]) for name in ("label", "margin", "pred")}
    names = tuple(map(str, range(10)))
    label, margin, prediction = columns["label"], columns["margin"], columns["pred"]
    record = Record(torch.arange(len(label)), label, None, names, margin, prediction)
    found, seconds = timed(lambda: labels.find(record))
    once, folds = map(float, made["t"])
    rows = {"noiseproof": ranking(flipped, found.label_score.to_numpy(), found.is_label_issue.to_numpy())}
    rows["noiseproof"] |= {"cost": seconds, "rate": found.attrs["noise_rate"], "training": once}
    for source, cost in (("kfold", folds), ("final", 0.0)):
        rows[f"cleanlab {source}"] = cleanlab_row(flipped, made["label"], made[source], cost)
    given = labels.find(probabilities=made["kfold"], label=made["label"])
    rows["noiseproof, kfold alone"] = ranking(
        flipped, given.label_score.to_numpy(), given.is_label_issue.to_numpy()
    ) | {"cost": folds, "rate": given.attrs["noise_rate"]}
    return {name: row | {"true_rate": float(flipped.mean())} for name, row in rows.items()}


def timed(call):
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def cleanlab_row(flipped: np.ndarray, label: np.ndarray, table: np.ndarray, cost: float) -> dict[str, float]:
    try:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return {}
    marked, seconds = timed(lambda: find_label_issues(label, table, n_jobs=1))
    scores = [get_label_quality_scores(label, table, method=method) for method in METHODS]
    rows = [ranking(flipped, score, marked) for score in scores]
    best = max(rows, key=lambda row: row["ap"])
    return best | {"cost": cost + seconds, "rate": float(marked.mean())}


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


def contenders() -> dict:
    found = {"noiseproof": lambda table, given: labels.find(probabilities=table, label=given)}
    try:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return found

    def cleanlab(table, given):
        return find_label_issues(given, table, n_jobs=1), get_label_quality_scores(given, table)

    return found | {"cleanlab": cleanlab}


def peak_of(name: str) -> None:
    """In a process of its own: the peak in bytes, per byte of the input, which is part of it."""
    judge_all = contenders()[name]
    small = big_problem((1000, 10))
    judge_all(*small)
    table, given = big_problem()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    judge_all(table, given)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(1 + (after - before) * 1024 / table.nbytes)


def speed(rounds: int) -> dict[str, dict[str, float]]:
    table, given = big_problem()
    seconds: dict[str, list[float]] = {name: [] for name in contenders()}
    for _ in range(rounds):
        for name, judge_all in contenders().items():
            start = time.perf_counter()
            judge_all(table, given)
            seconds[name].append(time.perf_counter() - start)
    del table
    found = {}
    for name, times in seconds.items():
        command = [sys.executable, __file__, "--peak-of", name]
        ratio = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
        found[name] = {"median": statistics.median(times), "least": min(times), "memory": ratio}
    return found


def quality(options: argparse.Namespace) -> dict[str, dict[str, dict[str, float]]]:
    """Setting to contender to mean over seeds."""
    found = {}
    for data in ("digits", "mnist") if options.mnist else ("digits",):
        inputs, clean = load(data, options.mnist, options.images)
        seeds = options.seeds if data == "digits" else options.seeds[:1]
        for spec in LOSSES:
            for kind in NOISES:
                rows = []
                for seed in seeds:
                    name = f"{data}-{spec}-{kind[:4]}{kind[10:13] if kind[0] == 's' else ''}-{seed}"
                    make = lambda: run(data, inputs, clean, spec, kind, seed)  # noqa: B023, E731
                    rows.append(judge(cached(options.cache, name, make)))
                    print(name, {k: round(row["ap"], 4) for k, row in rows[-1].items() if row}, flush=True)
                found[f"{data}, {spec}, {kind}"] = mean_of(rows)
    return found


def mean_of(rows: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {
        name: {key: statistics.mean(row[name][key] for row in rows) for key in rows[0][name]}
        | {"seeds": len(rows)}
        for name in rows[0]
    }


def markdown(result: dict) -> str:
    lines = [f"# Finding wrong labels\n\n{json.dumps(result['about'])}\n"]
    if "quality" in result:
        ours, crossed, final = "noiseproof", "cleanlab kfold", "cleanlab final"
        lines += [
            "| setting | AP | cleanlab, 5-fold | cleanlab, final | AUROC | cleanlab, 5-fold | F1 | best F1 |"
        ]
        lines[-1] += " cleanlab F1 | noise found | true | CPU s beyond training | cleanlab |"
        lines += ["|---" * 13 + "|"]
        for setting, row in result["quality"].items():
            a, b, c = row[ours], row[crossed], row[final]
            cells = [a["ap"], b["ap"], c["ap"], a["auroc"], b["auroc"], a["f1"], a["best_f1"], b["f1"]]
            cells += [a["rate"], a["true_rate"]]
            words = [f"{cell:.4f}" for cell in cells] + [f"{a['cost']:.1f}", f"{b['cost']:.1f}"]
            lines += [f"| {setting} | " + " | ".join(words) + " |"]
        lines += ["", misses(result["quality"]), ""]
    if "speed" in result:
        lines += [
            "| 1M x 100 probabilities | median s | least s | peak memory / input |",
            "|---|---|---|---|",
        ]
        for name, row in result["speed"].items():
            lines += [f"| {name} | {row['median']:.2f} | {row['least']:.2f} | {row['memory']:.2f} |"]
    return "\n".join(lines) + "\n"


def misses(found: dict) -> str:
    """The goals that were not reached, by setting."""
    lines = []
    for setting, row in found.items():
        a, rivals = row["noiseproof"], [row["cleanlab kfold"], row["cleanlab final"]]
        if a["ap"] <= max(rival["ap"] for rival in rivals):
            lines.append(f"- {setting}: average precision is not above cleanlab's")
        if a["f1"] < a["best_f1"] - 0.02:
            lines.append(f"- {setting}: F1 is {a['best_f1'] - a['f1']:.3f} below that of the best threshold")
        if a["cost"] > rivals[0]["cost"] / 10:
            share = a["cost"] / rivals[0]["cost"]
            lines.append(f"- {setting}: costs {share:.2f} of cleanlab's way, a tenth was the goal")
    share = [row["noiseproof"]["training"] / row["cleanlab kfold"]["cost"] for row in found.values()]
    told = f"One training, which makes the record, costs {min(share):.2f} to {max(share):.2f} of those five."
    return f"{told}\n\nGoals missed:\n\n" + ("\n".join(lines) or "none")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--mnist", type=Path, default=None, help="folder with mnist.npz")
    parser.add_argument("--images", type=int, default=3000)
    parser.add_argument("--cache", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("quality", "speed"), default=None)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peak-of", default=None, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1 if options.only == "quality" else options.threads)
    if options.peak_of:
        peak_of(options.peak_of)
        return
    result = json.loads(options.out.read_text()) if options.out.is_file() else {}
    result["about"] = {
        "torch": torch.__version__,
        "threads": options.threads,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "images of MNIST": options.images,
    }
    if options.only != "speed":
        result["quality"] = quality(options)
    if options.only != "quality":
        result["speed"] = speed(options.rounds)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    options.out.with_suffix(".md").write_text(markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main()
