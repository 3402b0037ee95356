"""Human labels of CIFAR-10N and CIFAR-100N: our verdicts and cleanlab's on the same probabilities.

    python benchmarks/human_labels.py CIFAR_N.npz [--rows 4000]

CIFAR_N.npz has the arrays cifar10_worse, cifar10_aggre and cifar100_noisy in the order of the
official training files; $NOISEPROOF_DATA has cifar10.npz and cifar100.npz. Images become histograms of
gradients, and each model predicts the labels of a random part of the rows out of sample.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from cleanlab.rank import get_label_quality_scores
from everyday_sets import gradients
from sklearn.metrics import average_precision_score

from noiseproof import labels
from noiseproof.labels.cross_fit_models import CROSS_FIT_MODELS, Inputs, cross_fit
from noiseproof.labels.folds import split


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, default=4000)
    options = parser.parse_args()
    human = np.load(options.file)
    root = Path(os.environ["NOISEPROOF_DATA"])
    print("| labels | wrong | probabilities of | noiseproof | cleanlab, self-confidence | cleanlab, margin |")
    print("|---|---|---|---|---|---|")
    for data, key in (("cifar10", "worse"), ("cifar10", "aggre"), ("cifar100", "noisy")):
        found = np.load(root / f"{data}.npz")
        given = human[f"{data}_{key}"]
        rows = np.sort(np.random.default_rng(0).permutation(len(given))[: options.rows])
        features = gradients(found["x_train"][rows])
        dense = ((features - features.mean(0)) / (features.std(0) + 1e-6)).astype(np.float32)
        label, clean = given[rows].astype(np.int64), found["y_train"][rows].astype(np.int64)
        measure(f"{data}n {key}", dense, label, label != clean)


def measure(name: str, dense: np.ndarray, label: np.ndarray, wrong: np.ndarray) -> None:
    classes = int(label.max()) + 1
    said = cross_fit(Inputs(dense, dense), label, classes, split(label, 5, rows=dense))
    for model in (*CROSS_FIT_MODELS, "all"):
        tables = list(said.values()) if model == "all" else [said[model]]
        tables = [np.clip(one, 1e-6, 1) / np.clip(one, 1e-6, 1).sum(1, keepdims=True) for one in tables]
        ours = labels.find(probabilities=tables, label=label).wrong_probability
        mean = np.mean(tables, axis=0)
        rivals = [
            1 - get_label_quality_scores(label, mean / mean.sum(1, keepdims=True), method=method)
            for method in ("self_confidence", "normalized_margin")
        ]
        scores = [f"{average_precision_score(wrong, score):.3f}" for score in (ours, *rivals)]
        print(f"| {name} | {100 * wrong.mean():.1f}% | {model} | {' | '.join(scores)} |", flush=True)


if __name__ == "__main__":
    main()
