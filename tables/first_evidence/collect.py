"""Write runs.csv and epochs.csv: every run of a folder of ``noiseproof papers run``, finished or not.

    python tables/first_evidence/collect.py runs/papers tables/first_evidence/results/NAME COMMIT

One line per run: what it is, where it ran, what came out, with the cells it fills; one line per run and epoch
for the curves. Runs that were planned and never begun have a line too. Accuracies of the classes are those
of the last epoch there is, in per cent.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

OUTCOMES = (
    "final_test_accuracy",
    "best_test_accuracy",
    "best_epoch",
    "alpha",
    "snr",
    "epochs",
    "steps",
    "seconds",
)
CURVES = ("epoch", "lr", "loss", "test_accuracy", "alpha", "snr", "intact_accuracy", "corrupted_accuracy")
SHORT = ("data", "noise", "model", "loss", "method", "seed", "precision")


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def run_line(key: str, run: dict[str, Any], folder: Path, commit: str) -> dict[str, Any]:
    config, result = run["config"], read(folder / "result.json")
    place = read(folder / "manifest.json").get("environment", {})
    epochs = metrics(folder)
    length = {"planned_epochs": config["epochs"], "planned_iterations": config["iterations"]}
    return {
        "run": key,
        **{name: config[name] for name in SHORT},
        **length,
        "state": run.get("problem") or ("finished" if result else "unfinished" if epochs else "not begun"),
        **{name: result.get(name) for name in OUTCOMES},
        **{f"train_{name}": value for name, value in result.get("train", {}).items()},
        "last_epoch": len(epochs),
        "test_class_accuracy": " ".join(f"{100 * value:.1f}" for value in last_classes(epochs)),
        "device": place.get("device"),
        "torch": place.get("torch"),
        "commit": commit,
        "cells": "; ".join(" / ".join(cell) for cell in run["cells"]),
    }


def metrics(folder: Path) -> list[dict[str, Any]]:
    file = folder / "metrics.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def last_classes(epochs: list[dict[str, Any]]) -> list[float]:
    return (epochs[-1].get("test_class_accuracy") or []) if epochs else []


def epoch_lines(key: str, folder: Path) -> list[dict[str, Any]]:
    return [{"run": key, **{name: line.get(name) for name in CURVES}} for line in metrics(folder)]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in line.items()}
            for line in lines
        )


def main() -> None:
    source, target, commit = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    target.mkdir(parents=True, exist_ok=True)
    runs = read(source / "manifest.json")["runs"]
    folders = {key: source / run["folder"] for key, run in runs.items()}
    write(target / "runs.csv", [run_line(key, run, folders[key], commit) for key, run in runs.items()])
    write(target / "epochs.csv", [line for key in runs for line in epoch_lines(key, folders[key])])


if __name__ == "__main__":
    main()
