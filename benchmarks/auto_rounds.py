"""Which rounds of successive halving should ``--loss auto`` use? All candidates, at every length.

    NOISEPROOF_DATA=DIR python benchmarks/auto_rounds.py run mnist
    python benchmarks/auto_rounds.py run tuned  # sets of everyday_sets.py that are not put aside
    python benchmarks/auto_rounds.py table      # writes auto_rounds.md

``run`` appends to auto_rounds.csv and leaves out what is there. An hour each on one core.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from noiseproof import data as data_sets
from noiseproof.auto import which_epoch
from noiseproof.auto.candidates import Candidate, candidates
from noiseproof.auto.choose import WINDOW, _validation_accuracies
from noiseproof.labels.networks import default_epochs
from noiseproof.train import Config, NonFiniteError, fit

FILE = Path(__file__).with_suffix(".csv")
COLUMNS = ("data", "noise", "seed", "candidate", "rows", "tenth", "third", "all", "accuracy")
LENGTHS = {"tenth": 10, "third": 3, "all": 1}
MNIST_NOISES = ("symmetric(0.8)", 'asymmetric(0.4, map="mnist")', "symmetric(0.5)", "none")
SETS = ("penbased", "segment", "led7digit", "debian_10", "magic", "page-blocks0", "marketing")
SET_NOISES = ("symmetric 40", "asymmetric 30", "annotators 30", "clean")
BASE = Config(loss="ce", lr=0.01, model="mlp", validation=0.2, record=False, batch_size=128)
Line = dict[str, str]
Rule = Callable[[list[Line]], Line]


def agreement(found: list[float]) -> float:
    width = min(WINDOW, len(found))
    return max(sum(found[at : at + width]) / width for at in range(len(found) - width + 1))


def measure(config: Config, one: Candidate, epochs: int, **given: Any) -> dict[str, float]:
    """Agreement with held-out labels at every length, and the test accuracy of the recommended weights."""
    found = {"accuracy": 0.0}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, part in LENGTHS.items():
            settings = {**one.settings(), "epochs": max(1, epochs // part), "out": f"{folder}/{name}"}
            try:
                run = fit(config.replace(**settings), **given)
            except NonFiniteError:
                found[name] = 0.0
                continue
            found[name] = agreement(_validation_accuracies(run))
            if name == "all":
                is_best = which_epoch(run) == "best"
                result = run.result or {}
                found["accuracy"] = (
                    result["selected"]["test_accuracy"] if is_best else result["final_test_accuracy"]
                )
    return found


def on_mnist() -> Iterator[tuple[dict[str, Any], Config, int, dict[str, Any]]]:
    for seed in (0, 1):
        for noise in MNIST_NOISES:
            config = BASE.replace(data="mnist(samples=8000)", test="mnist", seed=seed, noise=noise)
            config = config.replace(noise=None) if noise == "none" else config
            yield {"data": "mnist", "noise": noise, "seed": seed, "rows": 1600}, config, 25, {}


def on_sets() -> Iterator[tuple[dict[str, Any], Config, int, dict[str, Any]]]:
    import everyday_sets

    for noise in SET_NOISES:
        for name in SETS:
            task = everyday_sets.make(name, noise, 0)
            names = [str(number) for number in range(task.classes)]
            parts = {"data": (task.dense, task.label), "test": (task.dense_test, task.test_label)}
            given = {
                part: data_sets.LabelledData(
                    torch.as_tensor(rows, dtype=torch.float32),
                    label,
                    class_names=names,
                    name=name,
                    duplicates="ignore",
                )
                for part, (rows, label) in parts.items()
            }
            about = {"data": name, "noise": noise, "seed": 0, "rows": int(0.2 * len(task.label))}
            yield about, BASE, default_epochs(len(task.label)), given


def run(group: str) -> None:
    known = {tuple(line[name] for name in COLUMNS[:4]) for line in lines()}
    for about, config, epochs, given in on_mnist() if group == "mnist" else on_sets():
        classes = 10 if group == "mnist" else given["data"].num_classes
        for one in candidates(config, -math.log(classes)):
            row = about | {"candidate": str(one)}
            if tuple(str(row[name]) for name in COLUMNS[:4]) in known:
                continue
            row |= measure(config, one, epochs, **given)
            is_new = not FILE.exists()
            with FILE.open("a", newline="") as file:
                table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if is_new:
                    table.writeheader()
                table.writerow(row)


def lines() -> list[Line]:
    return list(csv.DictReader(FILE.read_text().splitlines())) if FILE.exists() else []


def halving(*rounds: tuple[str, int]) -> Rule:
    """Keep the best candidates by their agreement at each length."""

    def choose(cell: list[Line]) -> Line:
        left = cell
        for length, kept in rounds:
            left = sorted(left, key=lambda line: -float(line[length]))[:kept]
        return left[0]

    return choose


def before(cell: list[Line]) -> Line:
    """The earlier rule: two rounds, and cross entropy unless another is half a standard error better."""
    best = sorted(cell, key=lambda line: -float(line["tenth"]))
    usual = next(line for line in best if line["candidate"].startswith("ce,"))
    left = sorted([*best[:3], usual], key=lambda line: -float(line["third"]))
    usual = next(line for line in left if line["candidate"].startswith("ce,"))
    share, rows = float(usual["third"]), int(usual["rows"])
    clearly = share + 0.5 * math.sqrt(share * (1 - share) / rows)
    return left[0] if float(left[0]["third"]) > clearly else usual


RULES: dict[str, tuple[float, Rule]] = {
    "before: three and cross entropy, then the best after a third": (3.5, before),
    "five, then two, then the best of all epochs (now)": (
        5.9,
        halving(("tenth", 5), ("third", 2), ("all", 1)),
    ),
    "five, then three, then the best of all epochs": (6.9, halving(("tenth", 5), ("third", 3), ("all", 1))),
    "three, then two, then the best of all epochs": (5.2, halving(("tenth", 3), ("third", 2), ("all", 1))),
    "all candidates in full": (13.0, halving(("all", 1))),
}
"""Rules, and their cost in trainings of full length, the final one included."""


def table() -> str:
    cells: dict[tuple[str, ...], list[Line]] = {}
    for line in lines():
        cells.setdefault((line["data"], line["noise"], line["seed"]), []).append(line)
    whole = {place: cell for place, cell in cells.items() if len(cell) == 12}
    groups = {
        "mnist": [c for p, c in whole.items() if p[0] == "mnist"],
        "sets": [c for p, c in whole.items() if p[0] != "mnist"],
    }
    head = f"| rule | trainings | MNIST, {len(groups['mnist'])} cells | worst |"
    found = [f"{head} everyday sets, {len(groups['sets'])} cells | worst |", "|---|---|---|---|---|---|"]
    for name, (cost, rule) in RULES.items():
        shown = [name, f"{cost:.1f}"]
        for group in groups.values():
            lost = [max(float(one["accuracy"]) for one in c) - float(rule(c)["accuracy"]) for c in group]
            shown += [f"{100 * statistics.fmean(lost):.1f}", f"{100 * max(lost):.1f}"]
        found.append(f"| {' | '.join(shown)} |")
    return "\n".join(found)


def page() -> str:
    return f"""# Rounds of `--loss auto`

Regret in points of test accuracy: how much better the best of all twelve candidates would have been,
mean over cells, and in the worst one. Trainings are counted in runs of full length, including the one with
the chosen settings. MNIST: 8,000 images, `mlp`, 25 epochs, symmetric noise of 80 and 50%, asymmetric of
40%, none, two seeds. Everyday sets: symmetric 40 (seven), asymmetric 30 (six) and annotators 30 (two), one
seed, up to 1,000 rows with the default number of epochs, none of them put aside. The rule was chosen by
MNIST and the seven with symmetric noise. `python benchmarks/auto_rounds.py run` measures
[all rows](auto_rounds.csv), `table` writes this page.

{table()}

At a third of the epochs losses that memorise are still ahead. Cross entropy is no longer preferred to a
slightly better candidate. What [CIFAR-10, 25 epochs](../tables/methods/cifar10.md) and
[everyday.md](everyday.md) say of the automatic choice of networks was measured with the earlier rule.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("group", nargs="?", choices=["mnist", "tuned"])
    options = parser.parse_args()
    if options.what == "table":
        FILE.with_suffix(".md").write_text(page())
    else:
        run(options.group)


if __name__ == "__main__":
    main()
