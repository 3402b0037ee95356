"""Draw printed_and_ours.png: Curriculum Table 5 at symmetric 0.4, with and without the unit maximum.

    python tables/first_evidence/draw.py

Printed accuracy is clean + diff. Open marks are runs that ended with whole classes at 0.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from noiseproof.papers import get

HERE = Path(__file__).parent
WAYS = {
    "with unit maximum": ("curriculum.table5 / {} / ", "#1f5fa8", 0.0),
    "without unit maximum": ("questions.readings / {} · no unit maximum / ", "#c0392b", 0.2),
    "with unit maximum, MAE as 2 (1 - p)": ("questions.readings / {} · its MAE", "#8a8a8a", -0.2),
}


def main() -> None:
    mpl.use("Agg")
    with (HERE / "results/a/runs.csv").open() as file:
        runs = [run for run in csv.DictReader(file) if run["noise"] and run["state"] == "finished"]
    figure, (accuracy, snr) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    draw(accuracy, runs, "final_test_accuracy", 100)
    draw(snr, runs, "snr", 1)
    accuracy.set_title("test accuracy of the last epoch, %")
    snr.set_title("snr")
    accuracy.legend(frameon=False, fontsize="small", loc="upper left")
    accuracy.set_ylim(48, 97)
    figure.suptitle("Curriculum Table 5, symmetric 0.4: printed best of 5, ours seed 0")
    figure.savefig(HERE / "printed_and_ours.png", dpi=100)


def draw(ax: Any, runs: list[dict[str, str]], outcome: str, factor: float) -> None:
    table = get("curriculum.table5")
    for place, row in enumerate(table.rows):
        printed = printed_number(table, row, outcome)
        ax.hlines(printed, place - 0.35, place + 0.35, color="black", label=None if place else "printed")
        for words, color, offset in WAYS.values():
            for run in runs:
                if run["cells"].startswith(words.format(row)):
                    mark(ax, place + offset, factor * float(run[outcome]), color, lost_classes(run))
    for name, (_, color, _) in WAYS.items():
        ax.plot([], [], "o", color=color, label=name)
    ax.set_xticks(range(len(table.rows)), table.rows)


def printed_number(table: Any, row: str, outcome: str) -> float:
    if outcome == "snr":
        return float(table.cell(row, "symmetric 0.4 · snr").printed)
    clean, diff = (table.cell(row, column).printed for column in ("clean · test %", "symmetric 0.4 · diff"))
    return float(clean + diff)


def mark(ax: Any, x: float, y: float, color: str, lost: int) -> None:
    ax.plot(x, y, "o", color=color, fillstyle="none" if lost else "full")
    if lost:
        words = f"{lost} class{'es' if lost > 1 else ''} at 0"
        ax.annotate(words, (x, y), (0, -13), textcoords="offset points", ha="center", fontsize="small")


def lost_classes(run: dict[str, str]) -> int:
    return [float(value) for value in run["test_class_accuracy"].split()].count(0)


if __name__ == "__main__":
    main()
