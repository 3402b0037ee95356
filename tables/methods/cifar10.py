"""CIFAR-10 with an 8-layer network, 25 epochs: losses, methods and the automatic choice side by side.

    NOISEPROOF_DATA=DIR python tables/methods/cifar10.py run [--rows ce auto ...] [--noises human ...]
    python tables/methods/cifar10.py table

``run`` appends a line per run to results/cifar10.csv and skips those that are there; an interrupted run is
resumed from --runs. All runs share one GPU. Steps of divide_mix and elr_plus cannot be captured: start a
process for each of their runs (--rows, --noises, --out), under NVIDIA MPS if it is available. ``table``
writes cifar10.md. Settings were fixed before any run: the recipe of sl.table1 with a cosine schedule, crop
and flip, defaults of each method, and a fifth of the run for what begins or grows over the first epochs.
"""

from __future__ import annotations

import argparse
import csv
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch

from noiseproof import auto
from noiseproof.train import Config, Run, Watcher, fit

HOME = Path(__file__).parent
RESULTS = HOME / "results/cifar10.csv"
NOISES: dict[str, tuple[dict[str, Any], float]] = {
    "clean": ({}, 0.0),
    "symmetric 20": ({"noise": "symmetric(0.2)"}, 0.2),
    "symmetric 50": ({"noise": "symmetric(0.5)"}, 0.5),
    "symmetric 80": ({"noise": "symmetric(0.8)"}, 0.8),
    "asymmetric 40": ({"noise": 'asymmetric(0.4, map="cifar10")'}, 0.2),
    "human": ({"data": 'cifar_n(kind="worse")'}, 0.402),
}
"""Settings, and the share of wrong labels, for co-teaching; asymmetric noise changes five classes."""
LOSSES = ("ce", "gce(q=0.7)", "sl", "unit_max(scale(mae))", "imae")
METHODS = ("divide_mix", "elr_plus", "co_teaching", "nal", "sop")
ROWS = ("auto", *METHODS, "elr", *LOSSES)
COMMON: dict[str, Any] = {
    "data": "cifar10",
    "model": "cnn8",
    "epochs": 25,
    "lr": 0.01,
    "weight_decay": 1e-4,
    "augment": "crop(padding=4) | flip | normalize(cifar10)",
    "record": False,
    "checkpoint_seconds": 120.0,
}
START = COMMON["epochs"] // 5
VALIDATION = 0.1
COLUMNS = ("row", "noise", "seed", "epochs", "precision", "final", "best", "memorised", "validation")
COLUMNS += ("which", "seconds", "words", "curve", "device", "torch")


def settings(row: str, noise: str) -> dict[str, Any]:
    data, wrong = NOISES[noise]
    weak = ", lam=0" if noise in ("symmetric 20", "asymmetric 40") else ""  # as in the paper
    penalty = ", penalty=True" if noise == "asymmetric 40" else ""
    methods = {
        "divide_mix": f"divide_mix(warmup={START}, ramp={START}{weak}{penalty})",
        "co_teaching": f"co_teaching(noise_rate={wrong}, gradual={START})",
        "nal": f"nal(start={START})",
    }
    if row == "auto":
        return {**data, "loss": "auto", "validation": VALIDATION}
    return {**data, "loss": row} if row in LOSSES else {**data, "method": methods.get(row, row)}


def train(config: Config) -> Run:
    if config.loss == "auto":
        return auto.fit(config, watcher=Watcher(), log=lambda words: None)
    return fit(config, watcher=Watcher())


def line_of(run: Run) -> dict[str, Any]:
    result = run.result or {}
    chosen, selected = run.choice, result["selected"]
    return {
        "final": round(result["final_test_accuracy"], 4),
        "best": round(result["best_test_accuracy"], 4),
        "memorised": result["train"]["noisy_subset"],
        "validation": "" if selected is None else round(selected["test_accuracy"], 4),
        "which": "" if chosen is None else auto.which_epoch(run),
        "words": "" if chosen is None else chosen["words"],
        "curve": " ".join(f"{100 * line['test_accuracy']:.1f}" for line in run.metrics),
    }


def run_all(options: argparse.Namespace) -> None:
    """Train the missing runs, ``jobs`` at a time, in the order of ``ROWS``: the longest begin first."""
    done = {(line["row"], line["noise"]) for line in lines(options.out)}
    waiting = [
        (row, noise)
        for row in options.rows
        for noise in options.noises
        if (row, noise) not in done and (noise != "clean" or row not in METHODS)
    ]
    lock, cuda = threading.Lock(), torch.cuda.is_available()
    shared = {"seed": 0, "epochs": COMMON["epochs"], "precision": options.precision}
    shared |= {"device": torch.cuda.get_device_name() if cuda else "cpu", "torch": torch.__version__}

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream() if cuda else None):
            while True:
                with lock:
                    if not waiting:
                        return
                    row, noise = waiting.pop(0)
                began, folder = time.monotonic(), options.runs / f"{row}-{noise}".replace(" ", "_")
                config = Config(**COMMON | settings(row, noise), precision=options.precision, out=str(folder))
                try:
                    found = line_of(train(config))
                except (RuntimeError, ValueError, OSError) as problem:
                    sys.stderr.write(f"{row}, {noise}: {problem}\n")
                    continue
                found |= {"row": row, "noise": noise, "seconds": round(time.monotonic() - began, 1), **shared}
                with lock:
                    write(options.out, found)

    threads = [threading.Thread(target=work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lines(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def write(path: Path, line: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if is_new:
            table.writeheader()
        table.writerow(line)


def accuracy(line: dict[str, str]) -> float:
    """Test accuracy in percent: at the epoch that the automatic choice recommends, otherwise at the last."""
    return 100 * float(line["validation" if line["which"] == "best" else "final"])


def table() -> str:
    """Accuracies by row and noise, and what the automatic choice chose, beside the best fixed loss."""
    found = {(line["row"], line["noise"]): line for line in lines(RESULTS)}
    body, chosen = [], []
    for row in sorted(ROWS, key=lambda row: row in METHODS):
        cells = [f"{accuracy(found[row, n]):.1f}" if (row, n) in found else "" for n in NOISES]
        if any(cells):
            body.append([f"`{row}`", *cells])
    for noise in NOISES:
        if (line := found.get(("auto", noise))) is not None:
            own, choice = accuracy(line), line["words"].partition(f", {line['epochs']} epochs")[0]
            chosen.append([noise, choice, f"{own:.1f}", *rival(found, noise, own)])
    head = ["noise", "`auto` chose", "accuracy", "best rival", "its accuracy", "difference", "rivals missing"]
    return f"{markdown(['row', *NOISES], body)}\n\n{markdown(head, chosen)}\n"


def rival(found: dict[tuple[str, str], dict[str, str]], noise: str, own: float) -> list[str]:
    """The best of the fixed losses and ELR, the difference to it, and those that were not run."""
    names = ("elr", *LOSSES)
    shares = {name: accuracy(found[name, noise]) for name in names if (name, noise) in found}
    best = max(shares, key=shares.__getitem__)
    missing = ", ".join(f"`{name}`" for name in names if name not in shares)
    return [f"`{best}`", f"{shares[best]:.1f}", f"{own - shares[best]:+.1f}", missing]


def markdown(head: list[str], body: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--noises", nargs="+", choices=list(NOISES), default=list(NOISES))
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--runs", type=Path, default=Path("runs/cifar10"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.what == "run":
        run_all(options)
    else:
        (HOME / "cifar10.md").write_text((HOME / "cifar10_about.md").read_text() + "\n" + table())


if __name__ == "__main__":
    main()
