"""The numbers that matter about one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ..dynamics import Record
from .evidence import Evidence, NothingToShow
from .figures.detection import average_precision, precision_recall
from .figures.margin_ridges import emphasis_share


@dataclass(frozen=True)
class Facts:
    """Shares are fractions; None is not known, or not measured."""

    samples: int
    classes: int
    epochs: int
    is_known: bool
    doubted: float
    """Share of labels that are wrong, or suspected where the truth is not known."""
    fitted: float | None
    """Share of the other labels that the final network gives back."""
    memorised: float | None
    """Share of the doubted labels that it gives back."""
    recovered: float | None
    """Share of the wrong labels for which it gives the true class."""
    gradient_share: float | None
    """Of the emphasis of the last epoch, the share on doubted labels."""
    final_test: float | None
    best_test: float | None
    best_epoch: int | None
    suspects: int
    weak: bool
    """Whether the network learned too little to judge labels."""
    unlearned: int
    """Classes it never learned."""
    noise_rate: float | None
    """As estimated without clean labels."""
    expected_wrong: float | None
    """How many of the suspects are probably wrong."""
    precision: float | None
    recall: float | None
    average_precision: float | None
    alpha: float | None
    snr: float | None
    seconds: float | None

    @property
    def fall(self) -> float:
        """How far test accuracy ended below its best."""
        return 0.0 if self.final_test is None or self.best_test is None else self.best_test - self.final_test


def facts_of(evidence: Evidence) -> Facts:
    """Everything the summary says, from the record, the metrics and the suspects.

    Example:
        >>> from noiseproof.report import example_record
        >>> facts = facts_of(Evidence(example_record(), loss="ce"))
        >>> facts.samples, facts.is_known, facts.final_test
        (400, True, None)
    """
    record, doubted = evidence.record, evidence.doubted
    prediction = final_prediction(evidence)
    truth = record.clean_label
    return Facts(
        samples=len(record),
        classes=record.num_classes,
        epochs=record.epochs,
        is_known=evidence.is_known,
        doubted=float(doubted.float().mean()),
        fitted=_agreement(prediction, record.label, ~doubted),
        memorised=_agreement(prediction, record.label, doubted),
        recovered=None if truth is None else _agreement(prediction, truth, doubted),
        gradient_share=_last_share(evidence),
        **_tested(evidence),
        **_found(evidence),
        alpha=_last(evidence, "alpha"),
        snr=_last(evidence, "snr"),
        seconds=sum(float(line.get("seconds") or 0) for line in evidence.metrics) or None,
    )


def mean_of(seeds: Sequence[Facts]) -> Facts:
    """The facts of runs that differ by their seed alone; what one of them does not know nobody knows."""
    means: dict[str, Any] = {}
    for name in (field.name for field in fields(Facts)):
        values = [getattr(facts, name) for facts in seeds]
        known = None not in values
        kind = type(values[0])
        means[name] = kind(round(fmean(values)) if kind is int else fmean(values)) if known else None
    return Facts(**means)


def final_prediction(evidence: Evidence) -> Tensor:
    """(N,) of the final network, or the last recorded one; -1 where it never spoke."""
    probability = evidence.outputs.get("train_probability")
    if probability is not None and len(probability) == len(evidence.record):
        return probability.argmax(1)
    return evidence.record.prediction[-1].long()


def _agreement(prediction: Tensor, label: Tensor, subset: Tensor) -> float | None:
    seen = subset & (prediction >= 0)
    total = int(seen.sum())
    return int(((prediction == label) & seen).sum()) / total if total else None


def _tested(evidence: Evidence) -> dict[str, Any]:
    try:
        epochs, values = evidence.series("test_accuracy")
    except NothingToShow:
        return {"final_test": None, "best_test": None, "best_epoch": None}
    best = max(values)
    return {"final_test": values[-1], "best_test": best, "best_epoch": epochs[values.index(best)]}


def _found(evidence: Evidence) -> dict[str, Any]:
    chosen = torch.tensor(evidence.suspects["is_label_issue"].to_numpy(dtype=bool))
    count, flipped = int(chosen.sum()), evidence.record.flipped
    about = evidence.suspects.attrs
    nothing = {
        "suspects": count,
        "weak": bool(about.get("weak")),
        "unlearned": _never_predicted(evidence.record),
        "noise_rate": about.get("noise_rate"),
        "expected_wrong": about.get("expected_wrong"),
        "precision": None,
        "recall": None,
        "average_precision": None,
    }
    if flipped is None or not bool(flipped.any()):
        return nothing
    hits = int((chosen & flipped).sum())
    score = torch.tensor(evidence.suspects["label_score"].to_numpy(dtype=float))
    return nothing | {
        "precision": hits / count if count else None,
        "recall": hits / int(flipped.sum()),
        "average_precision": average_precision(*precision_recall(score, flipped)),
    }


def _last_share(evidence: Evidence) -> float | None:
    try:
        return emphasis_share(evidence, evidence.record.epochs - 1)
    except NothingToShow:
        return None


def _last(evidence: Evidence, name: str) -> float | None:
    try:
        return evidence.series(name)[1][-1]
    except NothingToShow:
        return None


def _never_predicted(record: Record) -> int:
    """Classes that have labels but were not predicted once in the last fifth of the epochs."""
    last = record.prediction[-max(1, record.epochs // 5) :]
    given = torch.bincount(record.label, minlength=record.num_classes) > 0
    said = torch.bincount(last[last >= 0].long(), minlength=record.num_classes) > 0
    return int((given & ~said).sum())
