"""Consensus of several annotators beside crowd-kit and cleanlab: python benchmarks/annotators.py

Simulated crowds (seeds 100 to 109; 0 to 3 were used while the method was written), and the three answers of
each image of CIFAR-10N with ``--cifar cifar_n.npz probabilities.npy``. Needs crowd-kit and cleanlab.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from noiseproof import labels

HERE = Path(__file__).parent
CROWDS = [  # samples, classes, annotators, answers per sample, kind
    (500, 3, 20, 3, "skilled"),
    (500, 5, 50, 3, "mixed"),
    (1000, 10, 100, 3, "confusing"),
    (1000, 5, 10, 3, "confusing"),
    (300, 4, 150, 5, "mixed"),
    (2000, 10, 40, 5, "skilled"),
]
Answers = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Sample, annotator and label of each answer."""


def matrix(random: np.random.Generator, classes: int, kind: str) -> np.ndarray:
    """P(answer | true class) of one annotator."""
    skill = random.beta(6, 3, classes) if kind == "confusing" else random.beta(8, 3, classes)
    if kind == "mixed" and random.random() < 0.3:
        skill = np.full(classes, 1 / classes)  # guesses
    found = np.zeros((classes, classes))
    for k in range(classes):
        wrong = random.dirichlet(np.full(classes - 1, 0.5)) if kind == "confusing" else 1 / (classes - 1)
        found[k, np.arange(classes) != k] = (1 - skill[k]) * wrong
        found[k, k] = skill[k]
    if kind == "mixed" and random.random() < 0.1:
        found[:] = 0.1 / classes + 0.9 * np.eye(classes)[random.integers(classes)]  # nearly always the same
    return found


def crowd(
    seed: int, samples: int, classes: int, people: int, each: int, kind: str
) -> tuple[np.ndarray, Answers]:
    random = np.random.default_rng([seed, samples, classes, people])
    truth = random.choice(classes, samples, p=random.dirichlet(np.full(classes, 5)))
    matrices = np.stack([matrix(random, classes, kind) for _ in range(people)])
    rows = np.repeat(np.arange(samples), each)
    who = np.concatenate([random.choice(people, each, replace=False) for _ in range(samples)])
    limits = matrices[who, truth[rows]].cumsum(1)
    said = (random.random(len(rows))[:, None] > limits[:, :-1]).sum(1)
    return truth, (rows, who, said)


def classifier(seed: int, truth: np.ndarray, classes: int) -> np.ndarray:
    """Probabilities of a classifier that is right for about 80% of the samples."""
    random = np.random.default_rng([seed, 7])
    logits = random.normal(0, 1, (len(truth), classes)) + 2.6 * np.eye(classes)[truth]
    raised = np.exp(1.5 * logits)
    return raised / raised.sum(1, keepdims=True)


def ours(answers: Answers, said: np.ndarray | None) -> np.ndarray:
    rows, who, given = answers
    found = labels.consensus(sample=rows, annotator=who, label=given, probabilities=said)
    return np.asarray(found.classes)[found.labels.consensus_label]


def crowd_kit(name: str) -> Callable[[Answers, Any], np.ndarray]:
    def run(answers: Answers, said: np.ndarray | None) -> np.ndarray:
        import crowdkit.aggregation as kit

        frame = pd.DataFrame(dict(zip(("task", "worker", "label"), answers, strict=True)))
        method = getattr(kit, name)
        made = method() if name == "MajorityVote" else method(n_iter=100)
        return made.fit_predict(frame).sort_index().to_numpy()

    return run


def crowdlab(answers: Answers, said: np.ndarray | None) -> np.ndarray:
    from cleanlab.multiannotator import get_label_quality_multiannotator

    rows, who, given = answers
    table = pd.DataFrame({"row": rows, "who": who, "given": given}).pivot(
        index="row", columns="who", values="given"
    )
    found = get_label_quality_multiannotator(table, said, verbose=False, return_annotator_stats=False)
    return found["label_quality"]["consensus_label"].to_numpy()


METHODS: dict[str, tuple[Callable[[Answers, Any], np.ndarray], bool]] = {
    "majority vote (crowd-kit)": (crowd_kit("MajorityVote"), False),
    "Dawid-Skene (crowd-kit)": (crowd_kit("DawidSkene"), False),
    "one-coin Dawid-Skene (crowd-kit)": (crowd_kit("OneCoinDawidSkene"), False),
    "labels.consensus": (ours, False),
    "CROWDLAB (cleanlab), with a classifier": (crowdlab, True),
    "labels.consensus, with a classifier": (ours, True),
}


def measured(truth: np.ndarray, answers: Answers, said: np.ndarray) -> Iterator[dict[str, Any]]:
    for name, (method, uses) in METHODS.items():
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method(answers, said if uses else None)
        seconds = time.perf_counter() - begin
        yield {"method": name, "right": 100 * float((found == truth).mean()), "seconds": seconds}
    if said is not None:
        yield {
            "method": "the classifier alone",
            "right": 100 * float((said.argmax(1) == truth).mean()),
            "seconds": 0.0,
        }


def simulated(seeds: range) -> pd.DataFrame:
    rows = []
    for case in CROWDS:
        name = "{} samples, {} classes, {} annotators, {} answers each, {}".format(*case)
        for seed in seeds:
            truth, answers = crowd(seed, *case)
            said = classifier(seed, truth, case[1])
            rows += [{"crowd": name, "seed": seed, **row} for row in measured(truth, answers, said)]
    return pd.DataFrame(rows)


def cifar(path: Path, said: np.ndarray) -> pd.DataFrame:
    with np.load(path) as file:
        table = np.stack([file[f"cifar10_random{k}"] for k in (1, 2, 3)], 1)
        truth = file["cifar10_clean"]
    rows, who = np.indices(table.shape)
    answers = rows.ravel(), who.ravel(), table.ravel().astype(np.int64)
    return pd.DataFrame([{"crowd": "CIFAR-10N", "seed": 0, **row} for row in measured(truth, answers, said)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cifar", nargs=2, type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "annotators.json")
    options = parser.parse_args()
    found = simulated(range(100, 100 + options.seeds))
    if options.cifar:
        found = pd.concat([found, cifar(options.cifar[0], np.load(options.cifar[1]))], ignore_index=True)
    options.out.write_text(json.dumps(found.round(4).to_dict("records"), indent=0) + "\n")
    table = found.pivot_table(index="method", columns="crowd", values="right", sort=False)
    table["mean"] = table[[name for name in table if name != "CIFAR-10N"]].mean(axis=1)
    table["seconds"] = found.groupby("method").seconds.mean()
    print(table.T.round(2).to_string())


if __name__ == "__main__":
    main()
