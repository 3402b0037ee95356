"""One cell of ``everyday.py find``: our verdicts and the rivals', from the same out-of-sample predictions."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from everyday_sets import Task
from everyday_sets import make as make_task
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score

from noiseproof import labels
from noiseproof.data import LabelledData
from noiseproof.dynamics.statistics import mean_margin
from noiseproof.features import Features
from noiseproof.labels.cross_fit import inputs_of, two_rounds
from noiseproof.labels.cross_fit_models import CROSS_FIT_MODELS, Inputs, cross_fit, out_of_fold
from noiseproof.labels.findings import expected_f1, is_weak, marked
from noiseproof.labels.folds import split
from noiseproof.train import Config, fit

FILTERS = ("prune_by_noise_rate", "both", "confident_learning")
"""cleanlab's default and the other two that its documentation names."""
MAX_BOOSTED_CLASSES = 12
"""Boosted trees are asked up to so many classes, and for one seed, as they take longer than all others."""
Row = dict[str, Any]


def cell(name: str, noise: str, seed: int, boosted: bool = True) -> list[Row]:
    """One row of numbers for each finder, with or without boosted trees, which only rivals need."""
    warnings.simplefilter("ignore")
    task = make_task(name, noise, seed)
    clock = Clock()
    inputs = clock("features", lambda: inputs_of(Features().fit(task.raw), task.raw))
    splits = split(task.label, 5, rows=inputs.linear)
    said = {
        one: clock(one, lambda one=one: cross_fit(inputs, task.label, task.classes, splits, names=[one])[one])
        for one in CROSS_FIT_MODELS
    }
    rows = [ours(task, inputs, splits, said, clock)]
    if task.classes <= MAX_BOOSTED_CLASSES and seed == 0 and boosted:
        said["boosting"] = clock("boosting", lambda: boosting(inputs, task, splits))
    rows += [row for one, table in said.items() for row in rivals(one, table, task, clock)]
    if seed == 0:
        rows += of_a_run(task, inputs)
    about = {"set": name, "noise": noise, "seed": seed, "rows": len(task.label), "classes": task.classes}
    return [about | row for row in rows]


class Clock:
    """CPU seconds of what was done, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        found = work()
        self.seconds[name] = time.process_time() - began
        return found


def ours(task: Task, inputs: Inputs, splits: Any, said: dict[str, np.ndarray], clock: Clock) -> Row:
    def ask(weight: np.ndarray | None) -> list[np.ndarray]:
        if weight is None:
            return list(said.values())
        return list(cross_fit(inputs, task.label, task.classes, splits, weight=weight).values())

    wrong = clock("second round", lambda: two_rounds(ask, task.label).judged.wrong)
    seconds = sum(clock.seconds.values())
    weak = {"weak": bool(is_weak(wrong, task.classes)), "expected_f1": expected_f1(wrong)}
    return measured("noiseproof", wrong, marked(wrong), task, seconds) | weak


def boosting(inputs: Inputs, task: Task, splits: Any) -> np.ndarray:
    def make(rows: int) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(max_iter=50, random_state=0)

    return out_of_fold(make, inputs.dense, task.label, task.classes, splits)


def rivals(one: str, table: np.ndarray, task: Task, clock: Clock) -> list[Row]:
    """cleanlab on the probabilities of one model; of neighbours also the share with another label."""
    seconds = clock.seconds["features"] + clock.seconds[one]
    inside = np.clip(table.astype(np.float64), 1e-6, 1)
    inside /= inside.sum(1, keepdims=True)
    score = 1 - get_label_quality_scores(task.label, inside, method="normalized_margin")
    own = 1 - get_label_quality_scores(task.label, inside, method="self_confidence")
    rows = []
    for number, filtered in enumerate(FILTERS):
        try:
            flagged = np.asarray(find_label_issues(task.label, inside, filter_by=filtered, n_jobs=1), bool)
        except (ValueError, IndexError, AssertionError):  # a class that is never predicted
            flagged = own > 0.5
        name = f"cleanlab, {one}" + (f", {filtered}" if number else "")
        rows.append(measured(name, own if number else score, flagged, task, seconds, chance=own))
    if one == "neighbours":
        rows.append(measured("neighbours", own, own > 0.5, task, seconds))
    return rows


def of_a_run(task: Task, inputs: Inputs) -> list[Row]:
    """Scores by the record of one training: ours, the mean margin (AUM) and the last loss."""
    data = LabelledData(inputs.dense, task.label, class_names=[str(k) for k in range(task.classes)])
    began = time.process_time()
    with tempfile.TemporaryDirectory() as out:
        model = "mlp(hidden='')" if hasattr(inputs.linear, "tocsr") else "mlp"
        record = fit(Config(model=model, loss="ce", epochs=50, lr=0.03, out=out), data=data).record
        trained = time.process_time() - began
        found = labels.find(record, statistics=False)
    wrong = found.wrong_probability.to_numpy()
    last = 1 / (1 + np.exp(record.margin[-1].float().numpy()))
    margin = 1 / (1 + np.exp(mean_margin(record).numpy()))
    spent = time.process_time() - began
    return [
        measured("noiseproof, record of a run", wrong, found.is_label_issue.to_numpy(), task, spent),
        measured("mean margin (AUM)", margin, margin > 0.5, task, trained),
        measured("last loss", last, last > 0.5, task, trained),
    ]


def measured(
    finder: str,
    score: np.ndarray,
    flagged: np.ndarray,
    task: Task,
    seconds: float,
    chance: np.ndarray | None = None,
) -> Row:
    """``chance``: the finder's own probability that a label is wrong, where its score is not one."""
    wrong, chance = task.wrong, score if chance is None else chance
    some = bool(wrong.any())
    place = np.minimum((chance * 10).astype(int), 9)
    gaps = [abs(chance[place == k].sum() - wrong[place == k].sum()) for k in range(10)]
    rate = float(chance.mean()) if finder.startswith("noiseproof") else float(flagged.mean())
    return {
        "finder": finder,
        "ap": round(float(average_precision_score(wrong, score)), 4) if some else None,
        "f1": round(2 * float((flagged & wrong).sum()) / float(flagged.sum() + wrong.sum()), 4)
        if some
        else None,
        "rate_error": round(abs(rate - float(wrong.mean())), 4),
        "ece": round(float(sum(gaps) / len(wrong)), 4),
        "brier": round(float(((chance - wrong) ** 2).mean()), 4),
        "flagged": round(float(flagged.mean()), 4),
        "seconds": round(seconds, 2),
    }
