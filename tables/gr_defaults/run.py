"""Which defaults of ``gr`` train everywhere? Short runs of all candidates, 40% symmetric noise.

    python tables/gr_defaults/run.py OUT cifar [--data cifar10 --data cifar100]
    python tables/gr_defaults/run.py OUT digits
    python tables/gr_defaults/run.py OUT page      # prints the table of README.md from results.csv

Candidates differ in where the emphasis ends and how it is normalised; settings of beta and lambda are the
paper's. Finished runs are kept: the same command goes on.
"""

from __future__ import annotations

import csv
import math
import statistics
import sys
from pathlib import Path

import torch
import typer
from torch import Tensor

from noiseproof import losses, train
from noiseproof.cli.progress_of_many import watch_many
from noiseproof.losses import GR, MarginLoss
from noiseproof.losses.gr import batch_mean

RESULTS = Path(__file__).parent / "results.csv"
SETTINGS = ((8.0, 0.5), (12.0, 0.5), (16.0, 1.0))


class MeanOfAll(GR):
    """Normalised by the mean over all samples, those beyond the saturation counting with weight 1."""

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
        "batch mean of all, ends at 17.33": f"gr_mean_of_all({plain}, saturation=17.33)",
        "unit maximum, ends at 17.33": f'2*unit_max(gr({plain}, saturation=17.33, normalize="none"))',
        "unit maximum, soft end": f"2*unit_max({soft(beta, lam)})",
    }


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
    "cifar100": [("resnet44", 0.1, (8.0, 0.5))],
}


def cifar(out: Path, data: list[str]) -> list[train.Config]:
    found = []
    for name in data:
        augment = f"crop(padding=4) | flip | normalize({name})"
        for model, lr, (beta, lam) in PROBLEMS[name]:
            for words, loss in {**candidates(beta, lam), "ce": "ce"}.items():
                place = out / f"{name}-{model}-{lr}-{beta}-{lam}-{words}".replace(" ", "_").replace(",", "")
                found.append(
                    train.Config(
                        data=name,
                        model=model,
                        lr=lr,
                        loss=loss,
                        augment=augment,
                        out=str(place),
                        **SHARED,
                        **CIFAR,
                    )
                )
    return found


def digits(out: Path) -> list[train.Config]:
    return [
        train.Config(
            model="mlp(norm=True)",
            lr=lr,
            loss=loss,
            seed=seed,
            epochs=60,
            out=str(out / f"digits-{lr}-{beta}-{lam}-{words}-{seed}".replace(" ", "_").replace(",", "")),
            **SHARED,
        )
        for lr in (0.01, 0.1)
        for beta, lam in SETTINGS
        for words, loss in {**candidates(beta, lam), "ce": "ce"}.items()
        for seed in range(3)
    ]


def words_of(config: train.Config) -> tuple[str, str]:
    """Candidate, and beta and lambda, of a run."""
    for beta, lam in SETTINGS:
        for words, loss in candidates(beta, lam).items():
            if loss == config.loss:
                return words, f"({beta:g}, {lam:g})"
    return "ce", "-"


def main() -> None:
    out, what, *data = Path(sys.argv[1]), *sys.argv[2:]
    losses.LOSSES.setdefault("gr_mean_of_all", MeanOfAll)
    if what == "page":
        typer.echo(page())
        return
    configs = digits(out) if what == "digits" else cifar(out, [name for name in data if name != "--data"])
    seen: dict[tuple[object, ...], train.Config] = {}
    for config in configs:
        seen.setdefault((config.data, config.model, config.lr, config.loss, config.seed), config)
    jobs = 1 if what == "digits" else None  # losses of our own are known to this process alone
    found = train.compare(list(seen.values()), jobs=jobs, watcher=watch_many(False))
    with (out / "results.csv").open("a", newline="") as file:
        writer = csv.writer(file)
        for one in found.outcomes:
            config, result = one.config, one.result or {}
            fit = result.get("train", {})
            numbers = [
                result.get("final_test_accuracy"),
                result.get("best_test_accuracy"),
                fit.get("noisy_subset"),
            ]
            about = [config.data, config.model, config.lr, *words_of(config), config.seed]
            writer.writerow([*about, *numbers, one.problem or ""])


def page() -> str:
    """A row for every candidate, a column for every problem: final test accuracy, mean over seeds."""
    rows: dict[str, dict[str, list[float]]] = {}
    with RESULTS.open(newline="") as file:
        for data, model, lr, words, setting, _, final, *_ in csv.reader(file):
            problem = f"{data} {model} lr {lr} {setting}"
            rows.setdefault(words, {}).setdefault(problem, []).append(float(final or math.nan))
    problems = list(dict.fromkeys(name for row in rows.values() for name in row if not name.endswith("-")))
    lines = [["candidate", *problems, "mean", "worst"], ["---"] * (len(problems) + 3)]
    for words, row in rows.items():
        if words == "ce":
            row = {p: row.get(p.rsplit(" (", 1)[0] + " -", []) for p in problems}
        means = [100 * statistics.fmean(row[name]) if row.get(name) else math.nan for name in problems]
        lines.append(
            [words, *(f"{m:.1f}" for m in means), f"{statistics.fmean(means):.1f}", f"{min(means):.1f}"]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
