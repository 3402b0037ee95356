"""The numbers that matter about a run, and what they say in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ..dynamics import Record
from .evidence import Evidence, NothingToShow
from .figures.margins import emphasis_share
from .wording import count, percent, points, shown


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
    """Whether the network learned too little to assess labels."""
    unlearned: int
    """Classes it never learned."""
    noise_rate: float | None
    """As estimated without clean labels."""
    expected_wrong: float | None
    """How many of the suspects are probably wrong."""
    precision: float | None
    recall: float | None

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
    )


def mean_of(seeds: Sequence[Facts]) -> Facts:
    """The facts of runs that differ by their seed alone; None where a run has none."""
    means: dict[str, Any] = {}
    for name in (field.name for field in fields(Facts)):
        values = [getattr(facts, name) for facts in seeds]
        known = None not in values
        kind = type(values[0])
        means[name] = kind(round(fmean(values)) if kind is int else fmean(values)) if known else None
    return Facts(**means)


def final_prediction(evidence: Evidence) -> Tensor:
    """(N,) of the final network, or the last recorded one; -1 where there is none."""
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
    chosen, flipped, about = evidence.suspected, evidence.record.flipped, evidence.suspects.attrs
    count = int(chosen.sum())
    wrong = 0 if flipped is None else int(flipped.sum())
    hits = int((chosen & flipped).sum()) if flipped is not None else 0
    return {
        "suspects": count,
        "weak": bool(about.get("weak")),
        "unlearned": _never_predicted(evidence.record),
        "noise_rate": about.get("noise_rate"),
        "expected_wrong": about.get("expected_wrong"),
        "precision": hits / count if wrong and count else None,
        "recall": hits / wrong if wrong else None,
    }


def _last_share(evidence: Evidence) -> float | None:
    try:
        return emphasis_share(evidence, evidence.record.epochs - 1)
    except NothingToShow:
        return None


def _never_predicted(record: Record) -> int:
    """Classes that have labels but were not predicted once in the last fifth of the epochs."""
    last = record.prediction[-max(1, record.epochs // 5) :]
    given = torch.bincount(record.label, minlength=record.num_classes) > 0
    said = torch.bincount(last[last >= 0].long(), minlength=record.num_classes) > 0
    return int((given & ~said).sum())


MUCH = 0.5
FALL = 0.03
"""Of test accuracy since its best, above which a run is said to have got worse."""
LITTLE = 0.6
"""Share of right labels fitted, below which a run is said to underfit."""


def summarise(evidence: Evidence, facts: Facts) -> list[str]:
    """Sentences in the order a reader asks: what was done, how it ended, why, what to look at."""
    sentences = [_what(evidence, facts), _memory(facts), _test(facts), _gradient(facts), _suspects(facts)]
    if evidence.choice:
        sentences.insert(1, shown(f"Chosen automatically: {evidence.choice}.", 400))
    if facts.unlearned:
        sentences.insert(2, f"It {_unlearned(facts)}.")
    return [sentence for sentence in sentences if sentence]


def verdict(facts: Facts) -> str:
    """One line that says how it went.

    Good is a network that fits right labels and not wrong ones. Where none is known to be wrong, the verdict
    says only how many are suspected.
    """
    if underfits(facts):
        return "It underfits: even labels that look right were not learned."
    if not facts.is_known or facts.memorised is None:
        return _suspicion(facts)
    if facts.memorised > MUCH:
        return "It memorised the wrong labels."
    if facts.fall > FALL:
        return "It began to memorise wrong labels, and test accuracy fell."
    if facts.unlearned:
        return f"It did not fit most of the wrong labels, but {_unlearned(facts)}."
    return "It learned from the right labels and did not fit most of the wrong ones."


def _suspicion(facts: Facts) -> str:
    if facts.weak:
        return "It learned too little to find wrong labels."
    if facts.unlearned:
        suspected = f"{count(facts.suspects, 'label')} of {count(facts.samples)} suspected"
        return f"It {_unlearned(facts)}; {suspected}."
    look = "looks" if facts.suspects == 1 else "look"
    noise = "No noise was added; " if facts.is_known else ""
    return f"{noise}{count(facts.suspects, 'label')} of {count(facts.samples)} {look} wrong."


def _unlearned(facts: Facts) -> str:
    return f"never learned {count(facts.unlearned)} of {count(facts.classes, 'class', 'classes')}"


def underfits(facts: Facts) -> bool:
    return facts.fitted is not None and facts.fitted < LITTLE


def _what(evidence: Evidence, facts: Facts) -> str:
    settings = evidence.settings
    loss = settings.get("method") or settings.get("loss") or "a loss not named here"
    model = f"The network {settings['model']}" if settings.get("model") else "A network"
    trained = f"{model} was trained with {loss}"
    noise = f" with noise {settings['noise']}" if settings.get("noise") else ""
    size = f"{count(facts.samples, 'sample')} of {count(facts.classes, 'class', 'classes')}"
    data = f" on {settings['data']}{noise}" if settings.get("data") else ""
    return shown(f"{trained}{data}: {size}, {count(facts.epochs, 'epoch')}.", 400)


def _memory(facts: Facts) -> str:
    if facts.memorised is None:
        source = "The labels are as the data gives them" if facts.is_known else "Clean labels are not known"
        return f"{source}; at the end the network repeats {percent(facts.fitted, 0)} of the labels."
    if not facts.is_known:
        return (
            f"Clean labels are not known. {percent(facts.doubted)} of the labels are suspected; at the end"
            f" the network repeats {percent(facts.memorised, 0)} of them, and {percent(facts.fitted, 0)} of"
            " the others."
        )
    return (
        f"{percent(facts.doubted)} of the labels are wrong. At the end the network repeats"
        f" {percent(facts.memorised, 0)} of the wrong labels and gives the true class for"
        f" {percent(facts.recovered, 0)} of them; of the right labels it repeats {percent(facts.fitted, 0)}."
    )


def _test(facts: Facts) -> str:
    if facts.final_test is None:
        return "There was no test data."
    ended = f"Test accuracy ended at {percent(facts.final_test)}"
    if facts.fall <= 0.001:
        return f"{ended}, which is also the best of all epochs."
    best = f"the best epoch, {facts.best_epoch}, had {percent(facts.best_test)}"
    if facts.fall <= FALL:
        return f"{ended}; {best}."
    return (
        f"{ended}, {points(facts.fall)} below its best: {best}. Such a fall is the mark of memorised noise."
    )


def _gradient(facts: Facts) -> str:
    if facts.gradient_share is None or facts.memorised is None:
        return ""
    word = "wrong" if facts.is_known else "suspected"
    return (
        f"In the last epoch {percent(facts.gradient_share, 0)} of the gradient came from {word} labels, which"
        f" are {percent(facts.doubted, 0)} of the samples."
    )


def _suspects(facts: Facts) -> str:
    weak = " A network that learned so little cannot tell which labels are wrong: train longer first."
    found = _suspected(facts) if facts.suspects else "No label is suspected."
    return found + (weak if facts.weak or underfits(facts) else "")


def _suspected(facts: Facts) -> str:
    found = f"{count(facts.suspects, 'label')} {'is' if facts.suspects == 1 else 'are'} suspected"
    rate = f" Noise is estimated at {percent(facts.noise_rate)}." if facts.noise_rate is not None else ""
    if facts.precision is None:
        return f"{found}: look at the worst first.{rate}"
    return (
        f"{found} without looking at the truth: {percent(facts.precision, 0)} of them are really wrong, and"
        f" they are {percent(facts.recall, 0)} of all wrong labels.{rate}"
    )
