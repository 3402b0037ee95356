"""Draw the pictures of gr.md, sl.md, nal.md and curriculum.md from results/: python tables/draw.py"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from noiseproof.losses.curves.drawing import COLOURS
from noiseproof.papers import get
from noiseproof.papers.comparing import compare_with
from noiseproof.papers.results import read_results

HERE = Path(__file__).parent
Line = dict[str, str]


def read(name: str) -> list[Line]:
    return [
        line
        for path in sorted((HERE / "results").rglob(name))
        for line in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    ]


RUNS, EPOCHS = read("runs.csv"), read("epochs.csv")


FIRST_RATES = {line["run"]: float(line["lr"]) for line in EPOCHS if line["epoch"] == "1"}


def runs(**wanted: str) -> list[Line]:
    return [run for run in RUNS if all(run[name] == value for name, value in wanted.items())]


def simplify(ax: Axes) -> None:
    """Horizontal grid lines, no frame."""
    ax.grid(axis="y", color="0.92")
    ax.spines[["top", "right"]].set_visible(False)


# GR Table 3 ---------------------------------------------------------------------------------------

GR = {
    "CCE": "ce",
    "GR · β=0": 'gr(beta=0.0, lam=0.0, normalize="batch")',
    "GR · λ=0, β=1": 'gr(beta=1.0, lam=0.0, normalize="batch")',
    "GR · λ=0.5, β=12": 'gr(beta=12.0, lam=0.5, normalize="batch")',
    "GR · λ=1, β=16": 'gr(beta=16.0, lam=1.0, normalize="batch")',
    "GR · λ=2, β=20": 'gr(beta=20.0, lam=2.0, normalize="batch")',
}
PANELS = {
    "test_accuracy": ("test accuracy, %", "symmetric 0.4 · final %"),
    "corrupted_accuracy": ("training labels fitted, %", "symmetric 0.4 · corrupted %"),
}


def gr_table3() -> Figure:
    """Accuracy over iterations; printed numbers of the last one as marks at the right edge."""
    figure, table = Figure(figsize=(12.0, 4.6), layout="constrained"), get("gr.table3")
    for ax, (number, (words, column)) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
        for (row, loss), colour in zip(GR.items(), COLOURS, strict=False):
            (run,) = runs(loss=loss, model="resnet56", noise="symmetric(0.4)", iterations="100000")
            mine = [line for line in EPOCHS if line["run"] == run["run"] and line[number]]
            steps = [391 * float(line["epoch"]) / 1000 for line in mine]
            ax.plot(steps, [100 * float(line[number]) for line in mine], color=colour, lw=1.2, label=row)
            ax.plot(103, table.cell(row, column).printed, "<", color=colour, markersize=8)
        ax.set(xlabel="thousand iterations", ylabel=words, xlim=(0, 105))
        simplify(ax)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=6, frameon=False, fontsize="small")
    figure.suptitle("GR Table 3, CIFAR-10, ResNet-56, 40% symmetric; triangles: printed, last iteration")
    return figure


# SL Table 1 ---------------------------------------------------------------------------------------

SL = ("CE", "LSR", "Bootstrap", "Forward", "D2L", "GCE", "SL")
NETWORKS = {"MNIST": "MNIST · 4-layer CNN", "CIFAR-10": "CIFAR-10 · 8-layer CNN"}
RATES = {
    "symmetric": ("clean", "symmetric 0.2", "symmetric 0.4", "symmetric 0.6", "symmetric 0.8"),
    "asymmetric": ("clean", "asymmetric 0.2", "asymmetric 0.3", "asymmetric 0.4"),
}


def sl_table1() -> Figure:
    """Printed accuracy over the noise rate, as lines, and every cell of ours, as dots."""
    figure, table = Figure(figsize=(12.0, 8.4), layout="constrained"), get("sl.table1")
    found = compare_with(table, *read_results([HERE / "results"]))
    ours = {entry.cell.place: entry.ours for entry in found.entries}
    by_code = compare_with(get("sl.table1:code"), *read_results([HERE / "results"]))
    decided = {entry.cell.place: entry.ours for entry in by_code.entries}
    grid = figure.subplots(2, 2, sharey="row")
    for axes, (data, network) in zip(grid, NETWORKS.items(), strict=True):
        for ax, (kind, columns) in zip(axes, RATES.items(), strict=True):
            for method, colour in zip(SL, COLOURS, strict=False):
                row = f"{network} · {method}"
                places = [0.0 if word == "clean" else float(word.split()[1]) for word in columns]
                printed = [float(table.cell(row, column).printed) for column in columns]
                ax.plot(places, printed, color=colour, lw=1.2, label=method)
                for place, column in zip(places, columns, strict=True):
                    number, code = ours[row, column], decided[row, column]
                    filled = "none" if (row, column) in found.short else colour
                    if number is not None:
                        ax.plot(place, number, "o", color=colour, markerfacecolor=filled, markersize=5)
                    if code is not None:
                        ax.plot(place, code, "*", color=colour, markersize=12)
            ax.set(title=f"{data}, {kind}", xlabel="noise rate", ylabel="final test accuracy, %")
            simplify(ax)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=7, frameon=False)
    figure.suptitle(
        "SL Table 1: printed (lines) and ours (dots; hollow: 15 epochs; stars: reading :code, full length)"
    )
    return figure


# NAL, curves -------------------------------------------------------------------------------------

NAL = {
    "CIFAR-10, symmetric 0.4": ("cifar10", "symmetric(0.4)"),
    "CIFAR-10, symmetric 0.8": ("cifar10", "symmetric(0.8)"),
    "CIFAR-10, asymmetric 0.4": ("cifar10", 'asymmetric(0.4, map="cifar10")'),
    "CIFAR-100, symmetric 0.4": ("cifar100", "symmetric(0.4)"),
}


def nal_curves() -> Figure:
    """The shortened runs of ``nal.figures``, NAL as lines and cross entropy dashed."""
    figure = Figure(figsize=(12.0, 4.6), layout="constrained")
    for ax, (number, (words, _)) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
        for (name, (data, noise)), colour in zip(NAL.items(), COLOURS, strict=False):
            for run in runs(data=data, noise=noise, model="resnet34", epochs="20"):
                mine = [line for line in EPOCHS if line["run"] == run["run"] and line[number]]
                is_nal = run["method"].startswith("nal")
                ax.plot(
                    [int(line["epoch"]) for line in mine],
                    [100 * float(line[number]) for line in mine],
                    "-" if is_nal else "--",
                    color=colour,
                    label=f"{name}: {'NAL' if is_nal else 'CE'}",
                )
        ax.set(xlabel="epoch", ylabel=words, xlim=(0, 20.5), xticks=range(0, 21, 5))
        simplify(ax)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    figure.suptitle("NAL and cross entropy, ResNet-34, 20 of the paper's 500 epochs")
    return figure


# Curriculum Table 5 -------------------------------------------------------------------------------

CURRICULUM = {
    "CE": ("unit_max(ce)", ""),
    "SCE": ("unit_max(sce(q=0.95))", "sce(q=0.95)"),
    "GCE": ("unit_max(gce(q=0.4))", "gce(q=0.4)"),
    "AUL": ("unit_max(aul(a=2.0, q=2.0))", "aul(a=2.0, q=2.0)"),
    "MAE": ("unit_max(mae)", "0.5*mae"),
    "AGCE": ("unit_max(agce(a=3.0, q=4.0))", "agce(a=3.0, q=4.0)"),
}
LABELS = {
    "clean": {"data": "cifar10", "noise": ""},
    "symmetric 0.4": {"data": "cifar10", "noise": "symmetric(0.4)"},
    "human 0.4": {"data": 'cifar_n(kind="worse")', "noise": ""},
}
TABLE2_RATE = 0.05
"""Runs of Table 2 begin above it, those of Table 5 below."""
UNIT, RAW = COLOURS[0], COLOURS[1]


def printed_accuracy(row: str, column: str) -> float:
    table = get("curriculum.table5")
    clean = float(table.cell(row, "clean · test %").printed)
    return clean if column == "clean" else clean + float(table.cell(row, f"{column} · diff").printed)


def curriculum_table5() -> Figure:
    """Every run of both readings beside the printed best of five."""
    figure = Figure(figsize=(12.0, 4.4), layout="constrained")
    for ax, (column, labels) in zip(figure.subplots(1, 3, sharey=True), LABELS.items(), strict=True):
        for place, (row, losses) in enumerate(CURRICULUM.items()):
            ax.hlines(printed_accuracy(row, column), place - 0.35, place + 0.35, color="black", lw=1.5)
            for side, loss, colour in zip((-0.12, 0.12), losses, (UNIT, RAW), strict=True):
                found = runs(loss=loss, model="cnn8", epochs="120", **labels)
                final = [100 * float(run["final"]) for run in found if FIRST_RATES[run["run"]] < TABLE2_RATE]
                ax.plot([place + side] * len(final), final, "o", color=colour, markersize=5)
        ax.set_xticks(range(len(CURRICULUM)), CURRICULUM)
        ax.set_title(column, fontsize="medium")
        simplify(ax)
    figure.axes[0].set_ylabel("final test accuracy, %")
    figure.axes[0].plot([], [], color="black", lw=1.5, label="printed, best of five")
    figure.axes[0].plot([], [], "o", color=UNIT, label="with unit maximum, each of five seeds")
    figure.axes[0].plot([], [], "o", color=RAW, label="without (default), seeds so far")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    return figure


if __name__ == "__main__":
    sl_table1().savefig(HERE / "images" / "sl_table1.png", dpi=100)
    gr_table3().savefig(HERE / "images" / "gr_table3.png", dpi=100)
    nal_curves().savefig(HERE / "images" / "nal_curves.png", dpi=100)
    curriculum_table5().savefig(HERE / "images" / "printed_and_ours.png", dpi=100)
