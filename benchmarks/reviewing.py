"""Does correcting labels make better classifiers? By rules alone, and by a reviewer of the worst labels.

    python benchmarks/reviewing.py run FOLDER [--sets digits mnist review] [--noises "symmetric 40"]
                                              [--first-seed 0] [--seeds 5] [--quick]
    python benchmarks/reviewing.py table FOLDER

Sets: digits, a part of MNIST, and the group ``review`` of ``everyday_sets.py``, put aside until all settings
below were fixed on digits and the group ``tuned``. Every cell (a set, a kind of noise, a seed) becomes a file
in FOLDER; finished ones are kept. ``table`` writes reviewing.csv and reviewing.png beside this file, prints
Markdown. Needs what ``everyday.py`` needs.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import everyday_sets as sets
import numpy as np
import pandas as pd
import reviewing_tables
from cleanlab.rank import get_label_quality_scores
from sklearn.metrics import average_precision_score
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from noiseproof import labels
from noiseproof.data import LabelledData, load
from noiseproof.features import Features
from noiseproof.labels import Decision
from noiseproof.labels.cross_fit import inputs_of, two_rounds
from noiseproof.labels.cross_fit_models import cross_fit
from noiseproof.labels.findings import frame
from noiseproof.labels.folds import split
from noiseproof.train import Config, fit

NOISES = ("symmetric 40", "asymmetric 30", "annotators 30")
IMAGES, QUICK = ("digits", "mnist"), ("digits", "crx", "segment")
OTHERS, MNIST_ROWS, MNIST_TEST = 200, 1000, 2000
"""Rows that teach the weak annotators, and of MNIST those for training and for testing."""
RULES = {"relabel": 0.9, "drop": 0.4}
RULES_OF_MANY = {"relabel": 0.7, "drop": 0.3}
"""For sets of more than two classes."""
DROPPING = {"drop": 0.4}
"""The rule of the first run, kept for comparison."""
STEPS, MIN_EPOCHS = 240, 30
ROBUST = "gce(q=0.7)"
LOOKED = (0.05, 0.1, 0.2, 0.4)
RIGHT = 0.95
"""How often the simulated reviewer gives the true label; otherwise he gives any other."""
REVIEWED_SEEDS = 2
Row = dict[str, Any]


class Case(NamedTuple):
    """One cell. ``rows`` are what a user has; ``train`` and ``test`` hold numbers made of them."""

    rows: Any
    train: LabelledData
    """With noisy labels."""
    clean: np.ndarray
    test: LabelledData

    @property
    def given(self) -> np.ndarray:
        return self.train.label.numpy()


class Order(NamedTuple):
    """Who says in which order to look at labels: the least trusted first."""

    name: str
    trust: np.ndarray


def make_case(name: str, noise: str, seed: int) -> Case:
    task = images(name, noise, seed) if name in IMAGES else sets.make(name, noise, seed)
    names = [str(number) for number in range(task.classes)]
    scale = StandardScaler().fit(task.dense)
    train, test = (
        LabelledData(scale.transform(x).astype(np.float32), label, class_names=names)
        for x, label in ((task.dense, task.label), (task.dense_test, task.test_label))
    )
    return Case(task.raw, train, task.clean, test)


def images(name: str, noise: str, seed: int) -> sets.Task:
    """Pixels, in training rows of their own for every seed; the test rows stay."""
    train, test = load(name, split="train"), load(name, split="test")
    order = np.random.default_rng([seed, 1]).permutation(len(train))
    here = order[: min(MNIST_ROWS, len(order) - OTHERS)]
    others = order[len(here) :][:OTHERS]
    x, x_others, x_test = (
        data.batch(part).input.flatten(1).numpy()
        for data, part in ((train, here), (train, others), (test, slice(MNIST_TEST)))
    )
    label, known = train.label.numpy()[here], train.label.numpy()[others]
    noisy = sets.corrupted(noise, label, seed, x, x_others, known, x)
    test_label = test.label.numpy()[:MNIST_TEST]
    images = train.batch(here).input.numpy()
    return sets.Task(name, noise, seed, images, x, x, noisy, label, x_test, x_test, x_test, test_label)


def cell(name: str, noise: str, seed: int) -> list[Row]:
    case = make_case(name, noise, seed)
    found, said = judged(case, seed)
    rows = by_rules(case, found, seed)
    if seed < REVIEWED_SEEDS:
        rows += by_reviewing(case, found, said, seed)
    about = {"set": name, "noise": noise, "seed": seed, "rows": len(case.given)}
    return [about | row for row in rows]


def judged(case: Case, seed: int) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """What ``labels.find(rows, label=given)`` returns, and the probabilities by model it is made from."""
    inputs = inputs_of(Features().fit(case.rows), case.rows)
    classes = case.train.num_classes
    splits = split(case.given, 5, rows=inputs.linear)
    said = cross_fit(inputs, case.given, classes, splits)

    def ask(weight: np.ndarray | None) -> list[np.ndarray]:
        again = said if weight is None else cross_fit(inputs, case.given, classes, splits, weight=weight)
        return list(again.values())

    names = case.train.class_names
    return frame(two_rounds(ask, case.given).judged, np.arange(len(case.given)), names, {}), said


def by_rules(case: Case, found: pd.DataFrame, seed: int) -> list[Row]:
    """Nobody looks: train, find, apply, train again."""
    noisy, record = trained(case.train, case.test, seed)
    clean = case.train.with_labels(case.clean)
    rows = [
        {"arm": "noisy", "accuracy": noisy, "wrong": share_wrong(case.train, case)},
        {"arm": f"noisy, {ROBUST}", "accuracy": trained(case.train, case.test, seed, ROBUST)[0]},
        {"arm": "clean", "accuracy": trained(clean, case.test, seed)[0], "wrong": 0.0},
    ]
    by_record = labels.find(record, statistics=False)
    if case.train.num_classes > 2:
        rows.append({"arm": reviewing_tables.OF_MANY} | ruled(case, found, RULES_OF_MANY, seed))
    return [
        *rows,
        {"arm": "dropping, record"} | ruled(case, by_record, DROPPING, seed),
        {"arm": "dropping, cross-fitted"} | ruled(case, found, DROPPING, seed),
        {"arm": "rules, cross-fitted"} | ruled(case, found, RULES, seed) | suggestions(case, found),
    ]


def ruled(case: Case, found: pd.DataFrame, rules: dict[str, float], seed: int) -> Row:
    """Accuracy after a rule was applied, and what it did to the labels."""
    made = labels.decide(found, **rules)
    data = labels.apply(case.train, made) if made else case.train
    return {
        "accuracy": trained(data, case.test, seed)[0],
        "wrong": share_wrong(data, case),
        "dropped": round(1 - len(data) / len(case.given), 4),
        "relabelled": round(sum(one.decision == "relabel" for one in made) / len(case.given), 4),
        "ap": round(float(average_precision_score(case.given != case.clean, found.wrong_probability)), 4),
    }


def suggestions(case: Case, found: pd.DataFrame) -> Row:
    """How often the suggested class is right where a wrong label is marked."""
    marked = found.is_label_issue.to_numpy() & (case.given != case.clean)
    right = found.predicted_label.to_numpy() == case.clean
    return {"suggested_right": round(float(right[marked].mean()), 4) if marked.any() else None}


def trained(data: LabelledData, test: LabelledData, seed: int, loss: str = "ce") -> tuple[float, Any]:
    """Accuracy at the end of the training that all data get, and its record."""
    with tempfile.TemporaryDirectory() as out:
        config = Config(
            model="mlp(hidden='64', norm=True)",
            loss=loss,
            lr=0.05,
            epochs=max(MIN_EPOCHS, STEPS * Config().batch_size // len(data)),
            evaluate_every=10_000,
            checkpoint_seconds=10_000,
            seed=seed,
            out=out,
        )
        run = fit(config, data=data, test=test)
        return round(100 * float(run.result["final_test_accuracy"]), 2), run.record


def share_wrong(data: LabelledData, case: Case) -> float:
    return round(float((data.label.numpy() != case.clean[data.index.numpy()]).mean()), 4)


def by_reviewing(case: Case, found: pd.DataFrame, said: dict[str, np.ndarray], seed: int) -> list[Row]:
    """Somebody looks at the worst labels; the others stay as they are, or rules decide about them."""
    answers = reviewer(case, seed)
    rules = labels.decide(found, **RULES)
    rows = [reviewed(case, [], "nobody", 0.0, seed), reviewed(case, answers, "everything", 1.0, seed)]
    if rules:
        rows.append(reviewed(case, rules, "noiseproof, then rules", 0.0, seed))
    for order in orders(case, found, said, seed):
        by_trust = np.argsort(order.trust, kind="stable")
        for share in LOOKED:
            looked = set(by_trust[: round(share * len(by_trust))].tolist())
            made = [answer for answer in answers if answer.sample in looked]
            rows.append(reviewed(case, made, order.name, share, seed))
            if order.name == "noiseproof":
                rest = [rule for rule in rules if rule.sample not in looked]
                rows.append(reviewed(case, made + rest, "noiseproof, then rules", share, seed))
    return rows


def reviewer(case: Case, seed: int) -> list[Decision]:
    """What he would say about each label, the same for every order."""
    rng = np.random.default_rng([seed, 6])
    classes = case.train.num_classes
    other = (case.clean + rng.integers(1, classes, size=len(case.clean))) % classes
    says = np.where(rng.random(len(case.clean)) < RIGHT, case.clean, other)
    return [
        Decision(row, "keep") if given == label else Decision(row, "relabel", label)
        for row, (given, label) in enumerate(zip(case.given.tolist(), says.tolist(), strict=True))
    ]


def orders(case: Case, found: pd.DataFrame, said: dict[str, np.ndarray], seed: int) -> list[Order]:
    """Ours, chance, and cleanlab's: of two models the one whose order is in truth the better."""
    best = max(
        (get_label_quality_scores(case.given, probability(said[name])) for name in ("linear", "trees")),
        key=lambda score: average_precision_score(case.given != case.clean, -score),
    )
    chance = np.random.default_rng([seed, 7]).random(len(case.given))
    return [
        Order("noiseproof", -found.wrong_probability.to_numpy()),
        Order("cleanlab", best),
        Order("random", chance),
    ]


def probability(table: np.ndarray) -> np.ndarray:
    inside = np.clip(table.astype(np.float64), 1e-6, 1)
    return inside / inside.sum(1, keepdims=True)


def reviewed(case: Case, made: list[Decision], order: str, share: float, seed: int) -> Row:
    """Accuracy of a network of scikit-learn on the data as decided."""
    data = labels.apply(case.train, made) if made else case.train
    network = MLPClassifier((64,), batch_size=128, learning_rate_init=0.01, max_iter=30, random_state=seed)
    network.fit(data.batch(slice(None)).input.numpy(), data.label.numpy())
    accuracy = network.score(case.test.batch(slice(None)).input.numpy(), case.test.label.numpy())
    return {
        "arm": order,
        "looked": share,
        "accuracy": round(100 * accuracy, 2),
        "wrong": share_wrong(data, case),
    }


def run_cell(name: str, noise: str, seed: int, folder: Path) -> None:
    path = folder / f"{name}-{noise.replace(' ', '_')}-{seed}.json"
    if path.exists():
        return
    began = time.process_time()
    rows = cell(name, noise, seed)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(rows, indent=1) + "\n")
    os.replace(part, path)
    print(f"{path.stem}: {time.process_time() - began:.0f} CPU seconds", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=[*IMAGES, "review"])
    parser.add_argument("--noises", nargs="+", choices=NOISES, default=NOISES)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one seed of three sets, a few minutes")
    options = parser.parse_args()
    if options.what == "run":
        warnings.simplefilter("ignore")
        options.folder.mkdir(parents=True, exist_ok=True)
        groups = QUICK if options.quick else options.sets
        names = [name for group in groups for name in sets.GROUPS.get(group, (group,))]
        for seed in range(1 if options.quick else options.seeds):
            for name in names:
                for noise in options.noises:
                    run_cell(name, noise, options.first_seed + seed, options.folder)
    print(reviewing_tables.page(options.folder, write=options.what == "table"))


if __name__ == "__main__":
    main()
