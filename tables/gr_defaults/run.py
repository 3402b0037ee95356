"""Which defaults of ``gr`` train everywhere? Short runs of all candidates, 40% symmetric noise.

    python tables/gr_defaults/run.py cifar --out OUT [--data cifar10 --data cifar100] [--missing]
    python tables/gr_defaults/run.py digits --out OUT
    python tables/gr_defaults/run.py page      # README.md and final.png, from about.md and results.csv

Candidates differ in where the emphasis ends and how it is normalised; settings of beta and lambda are the
paper's. Finished runs are kept: the same command goes on. OUT/results.csv has a line for every run.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from pathlib import Path
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from noiseproof import losses, train
from noiseproof.cli.comparison_progress import comparison_watcher
from noiseproof.kernels import batch_mean
from noiseproof.losses import GR, MarginLoss
from noiseproof.losses.curves.drawing import COLOURS

HERE = Path(__file__).parent
SETTINGS = ((8.0, 0.5), (12.0, 0.5), (16.0, 1.0))
COLUMNS = (
    *("data", "model", "lr", "words", "setting", "seed"),
    *("final", "best", "noisy_subset", "problem"),
)


class MeanOfAll(GR):
    """Normalised by the mean over all samples, those beyond the saturation counting with weight 1.

    The mean is taken here, so that ``normalize`` must be "none".
    """

    name = "gr_mean_of_all"

    def evaluate(self, margin: Tensor, *, num_classes=None, mass=None):  # type: ignore[no-untyped-def]
        value, emphasis = self.value(margin), self.emphasis(margin)
        if mass is None:
            return value, emphasis
        mean = batch_mean(2 * torch.where(emphasis > 0, emphasis, 0.5).detach(), mass)
        return value / mean, emphasis / mean


def soft(beta: float, lam: float) -> str:
    """The registered loss with weight exp(.) - 1, which fades where a sample is fitted."""
    name = f"gr_soft_{beta:g}_{lam:g}".replace(".", "_")
    if name not in losses.LOSSES:
        MarginLoss.from_emphasis(lambda p, rest: torch.expm1(beta * p**lam * rest) / 2, name=name)
    return name


def candidates(beta: float, lam: float) -> dict[str, str]:
    plain = f"beta={beta}, lam={lam}"
    return {
        "as it is, ends at 17.33": f'gr({plain}, saturation=17.33, normalize="none")',
        "as it is, ends at 6": f'gr({plain}, saturation=6.0, normalize="none")',
        "as it is, soft end": soft(beta, lam),
        "batch mean, ends at 17.33": f'gr({plain}, saturation=17.33, normalize="batch")',
        "batch mean, ends at 6": f'gr({plain}, saturation=6.0, normalize="batch")',
        "batch mean of all, ends at 17.33": f'gr_mean_of_all({plain}, saturation=17.33, normalize="none")',
        "unit maximum, ends at 17.33": f'2*unit_max(gr({plain}, saturation=17.33, normalize="none"))',
        "unit maximum, soft end": f"2*unit_max({soft(beta, lam)})",
    }


# Runs ---------------------------------------------------------------------------------------------

SHARED = {
    "noise": "symmetric(0.4)",
    "weight_decay": 1e-4,
    "schedule": 'cosine(by="iteration")',
    "record": False,
}
CIFAR = {"epochs": 15, "precision": "bf16", "evaluate_every": 5}
PROBLEMS = {
    "cifar10": [
        ("resnet20", 0.1, (12.0, 0.5)),
        ("resnet20", 0.1, (16.0, 1.0)),
        ("resnet20", 0.01, (16.0, 1.0)),
        ("resnet56", 0.1, (12.0, 0.5)),
    ],
    "cifar100": [("resnet44", 0.1, (8.0, 0.5)), ("resnet20", 0.01, (8.0, 0.5))],
}


def cifar(data: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "data": name,
            "model": model,
            "lr": lr,
            "loss": loss,
            "augment": f"crop(padding=4) | flip | normalize({name})",
            **CIFAR,
        }
        for name in data
        for model, lr, setting in PROBLEMS[name]
        for loss in [*candidates(*setting).values(), "ce"]
    ]


def digits() -> list[dict[str, Any]]:
    return [
        {"data": "digits", "model": "mlp(norm=True)", "lr": lr, "loss": loss, "seed": seed, "epochs": 60}
        for lr in (0.01, 0.1)
        for setting in SETTINGS
        for loss in [*candidates(*setting).values(), "ce"]
        for seed in range(3)
    ]


def words_of(loss: str) -> tuple[str, str]:
    """Candidate, and beta and lambda, of a loss."""
    for beta, lam in SETTINGS:
        for words, spec in candidates(beta, lam).items():
            if spec == loss:
                return words, f"({beta:g}, {lam:g})"
    return "ce", "-"


def known() -> set[tuple[str, ...]]:
    """Runs in results.csv beside this file."""
    with (HERE / "results.csv").open(newline="") as file:
        return {tuple(row[key] for key in COLUMNS[:5]) for row in csv.DictReader(file) if row["final"]}


def missing(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = known()
    return [
        one
        for one in settings
        if (one["data"], one["model"], str(one["lr"]), *words_of(one["loss"])) not in done
    ]


def configs(settings: list[dict[str, Any]], out: Path, epochs: int | None) -> list[train.Config]:
    """Each run once, in a folder of its own."""
    found = {}
    for one in settings:
        chosen = {**SHARED, **one} | ({"epochs": epochs} if epochs else {})
        parts = (one["data"], one["model"], one["lr"], *words_of(one["loss"]), chosen.get("seed", 0))
        name = "-".join(map(str, parts)).replace(" ", "_").replace(",", "")
        found[name] = train.Config(**chosen, out=str(out / name))
    return list(found.values())


def run(made: list[train.Config], out: Path) -> None:
    """Losses of our own are known to this process alone: on a CPU it trains one run after the other."""
    jobs = None if torch.cuda.is_available() else 1
    found = train.compare(made, jobs=jobs, watcher=comparison_watcher(False))
    with (out / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for one in found.outcomes:
            config, result = one.config, one.result or {}
            numbers = [
                result.get("final_test_accuracy"),
                result.get("best_test_accuracy"),
                result.get("train", {}).get("noisy_subset"),
            ]
            told = ["" if number is None else f"{number:.4f}" for number in numbers]
            about = [config.data, config.model, config.lr, *words_of(config.loss), config.seed]
            writer.writerow([*about, *told, one.problem or ""])


# The page -----------------------------------------------------------------------------------------

Problem = tuple[str, str, str]
"""Model, learning rate, and beta and lambda."""
Means = dict[str, dict[Problem, float]]
"""Candidate, then problem, to the final test accuracy in percent, the mean over seeds."""


def read(data: str) -> Means:
    """Runs of one data set; cross entropy has no setting and stands beside every one of its rate."""
    runs: dict[str, dict[Problem, list[float]]] = {}
    with (HERE / "results.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["data"] == data and row["final"]:
                problem = (row["model"], row["lr"], row["setting"])
                runs.setdefault(row["words"], {}).setdefault(problem, []).append(100 * float(row["final"]))
    plain = runs.pop("ce")
    problems = list(dict.fromkeys(problem for row in runs.values() for problem in row))
    runs["ce"] = {p: plain[own] for p in problems if (own := (*p[:2], "-")) in plain}
    return {words: {p: statistics.fmean(row[p]) for p in problems if p in row} for words, row in runs.items()}


def problems_of(found: Means) -> list[Problem]:
    return list(dict.fromkeys(problem for row in found.values() for problem in row))


def table(found: Means) -> str:
    """A row for every candidate, a column for every problem; a mean where all of them were run."""
    problems = problems_of(found)
    whole = all(len(row) == len(problems) for row in found.values())
    names = [f"{model}, lr {lr}, {setting}" for model, lr, setting in problems]
    lines = [["candidate", *names, *(["mean"] if whole else []), "worst"]]
    lines.append(["---"] * len(lines[0]))
    for words, row in found.items():
        cells = [f"{row[problem]:.1f}" if problem in row else "not run" for problem in problems]
        mean = [f"{statistics.fmean(row.values()):.1f}"] if whole else []
        lines.append([words, *cells, *mean, f"{min(row.values()):.1f}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page() -> str:
    """README.md: what about.md says, then the tables."""
    about = (HERE / "about.md").read_text(encoding="utf-8")
    parts = (f"## {title}\n\n{table(read(data))}\n" for data, title in TITLES.items())
    return "\n".join([about, *parts])


def figure() -> Figure:
    """Final accuracy of every candidate, a mark for every problem."""
    drawn = Figure(figsize=(14.0, 4.8), layout="constrained")
    axes = drawn.subplots(1, len(TITLES), sharey=True)
    for ax, (data, title) in zip(axes, TITLES.items(), strict=True):
        _draw(ax, read(data))
        ax.axvline(CHANCE[data], color="0.6", linestyle=":", linewidth=1.0)
        ax.set_title(title, fontsize="medium")
    axes[0].invert_yaxis()
    return drawn


def _draw(ax: Axes, found: Means) -> None:
    names = list(found)
    for number, problem in enumerate(problems_of(found)):
        known = [(row[problem], place) for place, row in enumerate(found.values()) if problem in row]
        model, lr, setting = problem
        ax.plot(
            *zip(*known, strict=True),
            linestyle="none",
            marker="osD^vP"[number % 6],
            color=COLOURS[number % len(COLOURS)],
            label=f"{model}, lr {lr}, {setting}",
        )
    ax.set_yticks(range(len(names)), names)
    ax.set_xlim(0, 100)
    ax.set_xlabel("final test accuracy, %; dotted: chance")
    ax.grid(axis="y", color="0.92")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


TITLES = {
    "digits": "Digits, mean of three seeds, 60 epochs",
    "cifar10": "CIFAR-10, one seed, 15 epochs",
    "cifar100": "CIFAR-100, one seed, 15 epochs",
}


CHANCE = {"digits": 10.0, "cifar10": 10.0, "cifar100": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["cifar", "digits", "page"])
    parser.add_argument("--out", type=Path, default=Path("runs/gr_defaults"))
    parser.add_argument("--data", action="append", choices=list(PROBLEMS), help="of cifar; both if not given")
    parser.add_argument("--epochs", type=int, help="instead of 60 and 15, to try the script")
    parser.add_argument("--missing", action="store_true", help="only runs that results.csv has not")
    chosen = parser.parse_args()
    losses.LOSSES.setdefault("gr_mean_of_all", MeanOfAll)
    if chosen.what == "page":
        (HERE / "README.md").write_text(page(), encoding="utf-8")
        figure().savefig(HERE / "final.png", dpi=110)
        return
    settings = digits() if chosen.what == "digits" else cifar(chosen.data or list(PROBLEMS))
    settings = missing(settings) if chosen.missing else settings
    run(configs(settings, chosen.out, chosen.epochs), chosen.out)


if __name__ == "__main__":
    main()
