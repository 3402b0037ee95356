"""Draw the pictures of the page from the files under results/.

    python tables/first_evidence/draw.py

printed_and_ours.png: Curriculum Table 5 with clean labels and two noises, with and without the unit maximum.
Printed accuracy under noise is clean + diff; open marks are runs that ended with whole classes at 0, with
their number.
emphasis_ends.png: test accuracy of IMAE over epochs, by the margin at which its emphasis ends.
shifted_and_scaled.png: test accuracy of Curriculum Table 3 over epochs, and what is printed for the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from finished import HERE, Run, finished_runs, lines_of, lost_classes
from page_tables import SYMMETRIC, printed_of_table5

from noiseproof.papers import get

LABELS = ("clean", "symmetric 0.4", "human 0.4")
BLUE, RED, GREY = "#1f5fa8", "#c0392b", "#8a8a8a"
CROWDED = 0.05
"""Part of its height within which another dot takes the side where a number would stand."""
WAYS = {
    "with unit maximum": ("table5 / {} / {} ", BLUE, 0.0),
    "without unit maximum": ("readings / {} · no unit maximum / {} ", RED, 0.2),
    "with unit maximum, MAE as 2 (1 - p)": ("readings / {} · its MAE is 2 (1 - p) / {} ", GREY, -0.2),
}
ENDS = {"never": RED, "at 17.33": BLUE, "at 6.24": "#2e8b57"}
ROWS = {
    "MAE scale": ("curriculum.table3", BLUE),
    "MAE shift": ("curriculum.table3", "#2e8b57"),
    "CE": ("questions.ce", GREY),
    "MAE": ("curriculum.table3", RED),
}
STEPS_PER_EPOCH = 391
DROPS = (32_000, 48_000)


def main() -> None:
    mpl.use("Agg")
    runs = finished_runs()
    draw_printed_and_ours(runs)
    draw_where_the_emphasis_ends(runs)
    draw_shifted_and_scaled(runs)


def draw_printed_and_ours(runs: Sequence[Run]) -> None:
    figure, axes = plt.subplots(2, 3, figsize=(15, 7.6), layout="constrained")
    for labels, (accuracy, snr) in zip(LABELS, axes.T, strict=True):
        draw(accuracy, runs, labels, "final_test_accuracy", 100)
        accuracy.set_title(f"{labels}: test accuracy of the last epoch, %")
        accuracy.set_ylim(15, 95)
        if labels != "clean":
            draw(snr, runs, labels, "snr", 1)
            snr.set_title(f"{labels}: snr")
            snr.margins(y=0.15)
    draw_closer(axes[1, 0], runs)
    figure.suptitle(f"Curriculum Table 5: printed best of 5, ours {seeds(runs, 'cnn8')}")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, ncols=5, loc="outside lower center")
    figure.savefig(HERE / "printed_and_ours.png", dpi=100)


def draw_closer(ax: Any, runs: Sequence[Run]) -> None:
    """Clean labels without the row that is far off."""
    draw(ax, runs, "clean", "final_test_accuracy", 100)
    ax.set_title("clean: the same, closer")
    ax.set(ylim=(88.5, 92), xlim=(-0.5, len(get("curriculum.table5").rows) - 1.5))


def draw(ax: Any, runs: Sequence[Run], noise: str, outcome: str, factor: float) -> None:
    table = get("curriculum.table5")
    for place, row in enumerate(table.rows):
        printed = printed_of_table5(row, noise)[outcome == "snr"]
        ax.hlines(printed, place - 0.35, place + 0.35, color="black", label=None if place else "printed")
        for words, color, offset in WAYS.values():
            mine = [run for run in runs if fills(run, words.format(row, noise))]
            heights = [factor * float(run[outcome]) for run in mine]
            for k, (run, height) in enumerate(zip(mine, heights, strict=True)):
                is_crowded = any(abs(height - other) < CROWDED * height for other in heights[:k])
                side = 1 if (offset > 0) != is_crowded else -1
                mark(ax, place + offset, height, color, lost_classes(run), side)
    for name, (_, color, _) in WAYS.items():
        ax.plot([], [], "o", color=color, label=name)
    ax.plot([], [], "o", color=GREY, fillstyle="none", label="with the number of classes at 0")
    ax.set_xticks(range(len(table.rows)), table.rows)
    ax.tick_params(labelbottom=True)


def fills(run: Run, words: str) -> bool:
    """Whether a cell of those words is the run's own, not one that takes it for its baseline."""
    return any(words in cell and cell.endswith(" / run") for cell in run["cells"].split("; "))


def mark(ax: Any, x: float, y: float, color: str, lost: int, side: int) -> None:
    """A dot; an open one has its number of lost classes beside it, on the right for a side of 1."""
    ax.plot(x, y, "o", color=color, fillstyle="none" if lost else "full")
    if lost:
        how = {"ha": "left" if side > 0 else "right", "va": "center", "fontsize": "small", "color": color}
        ax.annotate(str(lost), (x, y), (6 * side, 0), textcoords="offset points", **how)


def draw_curves(ax: Any, runs: Sequence[Run], color: str, label: str) -> int:
    """Test accuracy over epochs, a line for every run; returns how many epochs there are."""
    epochs = lines_of("epochs.csv")
    for place, run in enumerate(runs):
        curve = [100 * float(line["test_accuracy"]) for line in epochs if line["run"] == run["run"]]
        name = None if place else label
        ax.plot(range(1, len(curve) + 1), curve, color=color, linewidth=1.2, label=name)
    return len(curve)


def seeds(runs: Sequence[Run], model: str) -> str:
    """``seed 0`` or ``seeds 0 to 2``: the most of any setting with that network."""
    last = max(int(run["seed"]) for run in runs if run["model"] == model)
    return f"seeds 0 to {last}" if last else "seed 0"


def draw_where_the_emphasis_ends(runs: Sequence[Run]) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained", sharey=True)
    for ax, noise in zip(axes, ("clean", "symmetric 0.4", "symmetric 0.8"), strict=True):
        for words, color in ENDS.items():
            cell = f"questions.saturation / emphasis ends {words} / {noise} · final % / "
            if found := [run for run in runs if cell in run["cells"]]:
                draw_curves(ax, found, color, f"emphasis ends {words}")
        printed = get("imae.table6").cell("ResNet-20 · IMAE", f"{noise} · final %").printed
        ax.axhline(printed, color="black", linestyle="--", linewidth=1, label="printed, final")
        for steps in DROPS:
            ax.axvline(steps / STEPS_PER_EPOCH, color="#d0d0d0", linewidth=1, zorder=0)
        ax.set(title=f"{noise}, T = {0.5 if noise == 'clean' else 8}", xlabel="epoch", ylim=(0, 100))
    axes[0].set_ylabel("test accuracy, %")
    figure.suptitle(f"IMAE, ResNet-20, {seeds(runs, 'resnet20')} (grey: the rate falls to a tenth)")
    figure.legend(*axes[1].get_legend_handles_labels(), frameon=False, ncols=4, loc="outside lower center")
    figure.savefig(HERE / "emphasis_ends.png", dpi=100)


def draw_shifted_and_scaled(runs: Sequence[Run]) -> None:
    figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for row, (table, color) in ROWS.items():
        found = [run for run in runs if f"{table} / {row} / {SYMMETRIC} / run" in run["cells"]]
        end = draw_curves(ax, found, color, row)
        cell = get("curriculum.table3").cell(row, SYMMETRIC)
        ax.errorbar(end + 4, cell.printed, yerr=cell.std, fmt="_", color=color, capsize=3)
        ax.annotate(f"{cell.printed:.2f}", (end + 8, cell.printed), va="center", color=color)
    ax.errorbar([], [], yerr=[], fmt="_", color="black", capsize=3, label="printed, last epoch")
    ax.set(xlabel="epoch", ylabel="test accuracy, %", ylim=(0, 70), xlim=(0, 226))
    ax.set_title(f"Curriculum Table 3: CIFAR-100, symmetric 0.4, ResNet-34, {seeds(runs, 'resnet34')}")
    figure.legend(*ax.get_legend_handles_labels(), frameon=False, ncols=5, loc="outside lower center")
    figure.savefig(HERE / "shifted_and_scaled.png", dpi=100)


if __name__ == "__main__":
    main()
