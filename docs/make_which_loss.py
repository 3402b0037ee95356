"""Draw docs/images/which_loss.png from benchmarks/everyday/classify.csv: python docs/make_which_loss.py"""

from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import pandas as pd
from matplotlib.figure import Figure

from noiseproof.report.palette import CLEAN, FAINT, INK, RECOVERED, SUSPECTED, WRONG

ROOT = Path(__file__).parents[1]
OURS = "noiseproof"
KINDS = {
    "clean": (CLEAN, "o"),
    "symmetric 40": (WRONG, "s"),
    "asymmetric 30": (SUSPECTED, "D"),
    "annotators 30": (RECOVERED, "^"),
    "instance 30": (INK, "v"),
}
SPACE = 0.14


def main() -> None:
    rows = pd.read_csv(ROOT / "benchmarks/everyday/classify.csv")
    rows = rows[rows.noise.isin(KINDS)]
    cells = rows.pivot_table("accuracy", ["set", "noise", "seed"], "model", sort=False)
    behind = cells.drop(columns=OURS).sub(cells[OURS], axis=0)
    means = behind.groupby("noise").mean().T
    means = means.loc[means.mean(axis=1).sort_values().index]
    figure = Figure(figsize=(8.4, 0.44 * len(means) + 1.3), layout="constrained")
    ax = figure.add_subplot()
    for number, (kind, (colour, marker)) in enumerate(KINDS.items()):
        heights = [row + SPACE * (2 - number) for row in range(len(means))]
        ax.plot(means[kind], heights, marker, color=colour, label=kind, markersize=5)
    ax.axvline(0, color=INK, linewidth=1.2)
    ax.set_yticks(
        range(len(means)), [name.replace(f"{OURS}, network", 'network, loss="auto"') for name in means.index]
    )
    ax.tick_params(left=False)
    ax.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel("test accuracy, points against NoiseproofClassifier in the same cells")
    figure.legend(frameon=False, loc="outside upper left", ncols=len(KINDS))
    figure.savefig(ROOT / "docs/images/which_loss.png", dpi=110)


if __name__ == "__main__":
    main()
