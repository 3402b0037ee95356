"""One cell of ``everyday.py classify``: who classifies clean test rows best after training on wrong labels?

scikit-learn's models and cleanlab's wrapper around them see standardised numbers, one-hot categories, and
TF-IDF of text (trees and networks its 100 leading components); networks with a fixed loss are trained by
noiseproof on the same rows. The classifier gets the rows as they came, settings as they are by default.
Rivals that cost much, the networks and cleanlab around boosted trees, are in ``dear``: cells of their own.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cleanlab.classification import CleanLearning
from everyday_sets import Task
from everyday_sets import make as make_task
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from noiseproof import NoiseproofClassifier, auto
from noiseproof.data import LabelledData
from noiseproof.train import Config, NonFiniteError, fit

OURS = "noiseproof"
RIVALS: dict[str, tuple[Callable[[], Any], str]] = {
    "LogisticRegression": (lambda: LogisticRegression(max_iter=1000), "x"),
    "RandomForest": (lambda: RandomForestClassifier(random_state=0), "dense"),
    "HistGradientBoosting": (lambda: HistGradientBoostingClassifier(random_state=0), "dense"),
}
LOSSES = {
    "ce": {"loss": "ce"},
    "gce": {"loss": "gce(q=0.7)"},
    "sl": {"loss": "sl"},
    "mae": {"loss": "mae"},
    "imae": {"loss": "imae"},
    "unit_max(scale(mae))": {"loss": "unit_max(scale(mae))"},
    "elr": {"loss": "ce", "method": "elr"},
    "nal": {"loss": "ce", "method": "nal"},
}
EPOCHS, LR = 100, 0.05
MAX_BOOSTED_CLASSES, MAX_CLEANED_CLASSES = 12, 6
"""Boosted trees are asked up to so many classes, alone and inside CleanLearning."""
Row = dict[str, Any]


def cell(name: str, noise: str, seed: int) -> list[Row]:
    """Accuracy and CPU seconds of the classifier and of the rivals that are quick."""
    return rows_of(name, noise, seed, quick)


def our_cell(name: str, noise: str, seed: int) -> list[Row]:
    """The same of the classifier alone."""
    return rows_of(name, noise, seed, ours)


def dear_cell(name: str, noise: str, seed: int) -> list[Row]:
    """The same of those that cost much."""
    return rows_of(name, noise, seed, dear)


def network_cell(name: str, noise: str, seed: int) -> list[Row]:
    """The same of the rivals' network when its loss is chosen automatically."""
    return rows_of(name, noise, seed, chosen)


def rows_of(name: str, noise: str, seed: int, results: Callable[[Task, int], Iterator[Row]]) -> list[Row]:
    warnings.simplefilter("ignore")
    task = make_task(name, noise, seed)
    about = {"set": name, "noise": noise, "seed": seed, "rows": len(task.label), "classes": task.classes}
    return [about | row for row in results(task, seed)]


def ours(task: Task, seed: int) -> Iterator[Row]:
    model = NoiseproofClassifier(random_state=seed)
    yield measured(OURS, task, lambda: model.fit(task.raw, task.label).predict(task.raw_test)) | {
        "choice": model.choice_
    }


def quick(task: Task, seed: int) -> Iterator[Row]:
    yield from ours(task, seed)
    for name, (make, reads) in RIVALS.items():
        boosted = name == "HistGradientBoosting"
        if boosted and task.classes > MAX_BOOSTED_CLASSES:
            continue
        train, test = getattr(task, reads), getattr(task, f"{reads}_test")
        yield measured(name, task, lambda: make().fit(train, task.label).predict(test))  # noqa: B023
        if not boosted:
            yield measured(f"CleanLearning({name})", task, lambda: cleaned(make(), train, task.label, test))  # noqa: B023


def chosen(task: Task, seed: int) -> Iterator[Row]:
    yield measured(f"{OURS}, network", task, lambda: network(task, validation=0.2, loss="auto"))


def dear(task: Task, seed: int) -> Iterator[Row]:
    yield measured("ce, epoch by noisy validation", task, lambda: network(task, validation=0.2, loss="ce"))
    for name, settings in LOSSES.items():
        yield measured(name, task, lambda: network(task, **settings))  # noqa: B023
    if task.classes <= MAX_CLEANED_CLASSES:
        name = "HistGradientBoosting"
        make = RIVALS[name][0]
        yield measured(
            f"CleanLearning({name})", task, lambda: cleaned(make(), task.dense, task.label, task.dense_test)
        )


def cleaned(model: Any, train: Any, label: np.ndarray, test: Any) -> tuple[np.ndarray, str]:
    """CleanLearning; where it fails, as when a class would vanish, the model as it is, and the error."""
    cleaning = CleanLearning(model, seed=0, verbose=False, find_label_issues_kwargs={"n_jobs": 1})
    try:
        return np.asarray(cleaning.fit(train, label).predict(test)), ""
    except (ValueError, IndexError, AssertionError, ZeroDivisionError) as problem:
        failed = type(problem).__name__
    except NameError as problem:
        if "pred_probs_by_class" not in str(problem):
            raise
        failed = type(problem).__name__
    return np.asarray(model.fit(train, label).predict(test)), failed


def network(task: Task, validation: float = 0.0, **settings: str) -> tuple[np.ndarray | None, str]:
    """What a network with a fixed loss predicts; nothing, and the error, where its training diverges."""
    import torch

    mean, scale = task.dense.mean(0), task.dense.std()
    train, test = (((rows - mean) / scale).astype(np.float32) for rows in (task.dense, task.dense_test))
    names = [str(number) for number in range(task.classes)]
    data = LabelledData(train, task.label, class_names=names, duplicates="ignore")
    with tempfile.TemporaryDirectory() as out:
        config = Config(model="mlp", epochs=EPOCHS, lr=LR, validation=validation, out=out, **settings)  # type: ignore[arg-type]
        try:
            run = (auto.fit if config.loss == "auto" else fit)(config, data=data)
            which = auto.which_epoch(run) if config.loss == "auto" else "best" if validation else "final"
            model = run.load_model(which)
        except NonFiniteError as problem:
            return None, type(problem).__name__
    with torch.no_grad():
        return np.asarray(model(torch.from_numpy(test)).argmax(1)), ""


def measured(model: str, task: Task, work: Callable[[], Any]) -> Row:
    began = time.process_time()
    predicted = work()
    seconds = time.process_time() - began
    predicted, failed = predicted if isinstance(predicted, tuple) else (predicted, "")
    row: Row = {"model": model, "accuracy": None, "balanced": None, "seconds": round(seconds, 2)}
    if predicted is not None:
        row["accuracy"] = round(100 * float((np.asarray(predicted) == task.test_label).mean()), 2)
        row["balanced"] = round(100 * float(balanced_accuracy_score(task.test_label, predicted)), 2)
    return row | {"failed": failed}
