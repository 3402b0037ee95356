"""The key figures of a run, and sentences that interpret them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ..dynamics import Record
from .evidence import Evidence, NotAvailableError
from .figures.margins import emphasis_share
from .text import count, one_line, percent, points


@dataclass(frozen=True)
class Facts:
    """Key figures of a run. Shares are fractions; None means unknown or not measured."""

    samples: int
    classes: int
    epochs: int
    is_known: bool
    doubted: float
    """Share of labels that are wrong, or suspected if clean labels are not known."""
    fitted: float | None
    """Share of the other labels that the final network predicts."""
    memorised: float | None
    """Share of the doubted labels that it predicts."""
    recovered: float | None
    """Share of the wrong labels whose true class it predicts."""
    gradient_share: float | None
    """Share of the emphasis of the last epoch on doubted labels."""
    final_test: float | None
    best_test: float | None
    best_epoch: int | None
    suspects: int
    weak: bool
    """Whether the record is unreliable evidence about labels."""
    unlearned: int
    """Number of classes that the network never learned."""
    noise_rate: float | None
    """Noise rate estimated without clean labels."""
    expected_wrong: float | None
    """Expected number of truly wrong labels among the suspects."""
    precision: float | None
    recall: float | None

    @property
    def fall(self) -> float:
        """Best minus final test accuracy."""
        return 0.0 if self.final_test is None or self.best_test is None else self.best_test - self.final_test


def facts_of(evidence: Evidence) -> Facts:
    """Compute the key figures from the record, the metrics and the suspects.

    Example:
        >>> from noiseproof.testing import example_record
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
    """The mean of the facts of several seeds; None where a run has none."""
    means: dict[str, Any] = {}
    for name in (field.name for field in fields(Facts)):
        values = [getattr(facts, name) for facts in seeds]
        known = None not in values
        kind = type(values[0])
        means[name] = kind(round(fmean(values)) if kind is int else fmean(values)) if known else None
    return Facts(**means)


def final_prediction(evidence: Evidence) -> Tensor:
    """(N,) predictions of the final network, or of the last recorded epoch; -1 if there is none."""
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
    except NotAvailableError:
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
    except NotAvailableError:
        return None


def _never_predicted(record: Record) -> int:
    """Number of classes of labels that were never predicted in the last fifth of the epochs."""
    last = record.prediction[-max(1, record.epochs // 5) :]
    given = torch.bincount(record.label, minlength=record.num_classes) > 0
    predicted = torch.bincount(last[last >= 0].long(), minlength=record.num_classes) > 0
    return int((given & ~predicted).sum())


MEMORISED = 0.5
"""Share of wrong labels predicted, above which a run has memorised them."""
FALL = 0.03
"""Fall of test accuracy since its best, above which a run has got worse."""
UNDERFIT = 0.6
"""Share of right labels fitted, below which a run underfits."""


def summarise(evidence: Evidence, facts: Facts) -> list[str]:
    """Sentences about settings, memorisation, test accuracy, gradient and suspects."""
    sentences = [_settings(evidence, facts), _memory(facts), _test(facts), _gradient(facts), _suspects(facts)]
    if evidence.choice:
        sentences.insert(1, one_line(f"Chosen automatically: {evidence.choice}.", 400))
    if facts.unlearned:
        sentences.insert(2, f"The network {_unlearned(facts)}.")
    return [sentence for sentence in sentences if sentence]


def verdict(facts: Facts) -> str:
    """One line about the result: underfitting, memorisation, or fitting of right labels only.

    If no label is known to be wrong, the number of suspects.
    """
    if underfits(facts):
        return "The network underfits: even labels that are not suspected were not learned."
    if not facts.is_known or facts.memorised is None:
        return _suspicion(facts)
    if facts.memorised > MEMORISED:
        return "The network memorised the wrong labels."
    if facts.fall > FALL:
        return "The network began to memorise wrong labels, and test accuracy fell."
    if facts.unlearned:
        return f"The network did not fit most of the wrong labels, but {_unlearned(facts)}."
    return "The network learned from the right labels and did not fit most of the wrong ones."


def _suspicion(facts: Facts) -> str:
    if facts.weak:
        return "The record is not reliable evidence about labels."
    if facts.unlearned:
        suspected = f"{count(facts.suspects, 'label')} of {count(facts.samples)} suspected"
        return f"The network {_unlearned(facts)}; {suspected}."
    noise = "No noise was added; " if facts.is_known else ""
    verb = "is" if facts.suspects == 1 else "are"
    return f"{noise}{count(facts.suspects, 'label')} of {count(facts.samples)} {verb} suspected."


def _unlearned(facts: Facts) -> str:
    return f"never learned {count(facts.unlearned)} of {count(facts.classes, 'class', 'classes')}"


def underfits(facts: Facts) -> bool:
    return facts.fitted is not None and facts.fitted < UNDERFIT


def _settings(evidence: Evidence, facts: Facts) -> str:
    settings = evidence.settings
    loss = settings.get("method") or settings.get("loss") or "an unknown loss"
    model = f"The network {settings['model']}" if settings.get("model") else "A network"
    trained = f"{model} was trained with {loss}"
    noise = f" with noise {settings['noise']}" if settings.get("noise") else ""
    size = f"{count(facts.samples, 'sample')} of {count(facts.classes, 'class', 'classes')}"
    data = f" on {settings['data']}{noise}" if settings.get("data") else ""
    return one_line(f"{trained}{data}: {size}, {count(facts.epochs, 'epoch')}.", 400)


def _memory(facts: Facts) -> str:
    if facts.memorised is None:
        source = "No noise was added" if facts.is_known else "Clean labels are not known"
        return f"{source}; the final network predicts {percent(facts.fitted, 0)} of the labels."
    if not facts.is_known:
        return (
            f"Clean labels are not known. {percent(facts.doubted)} of the labels are suspected; the final"
            f" network predicts {percent(facts.memorised, 0)} of them, and {percent(facts.fitted, 0)} of the"
            " others."
        )
    return (
        f"{percent(facts.doubted)} of the labels are wrong. The final network predicts"
        f" {percent(facts.memorised, 0)} of the wrong labels and the true class for"
        f" {percent(facts.recovered, 0)} of them; of the right labels it predicts {percent(facts.fitted, 0)}."
    )


def _test(facts: Facts) -> str:
    if facts.final_test is None:
        return "There was no test data."
    final = f"The final test accuracy is {percent(facts.final_test)}"
    if facts.fall <= 0.001:
        return f"{final}, which is also the best of all epochs."
    best = f"the best epoch, {facts.best_epoch}, had {percent(facts.best_test)}"
    if facts.fall <= FALL:
        return f"{final}; {best}."
    return f"{final}, {points(facts.fall)} below its best: {best}. Such a fall indicates memorised noise."


def _gradient(facts: Facts) -> str:
    if facts.gradient_share is None or facts.memorised is None:
        return ""
    word = "wrong" if facts.is_known else "suspected"
    return (
        f"In the last epoch {percent(facts.gradient_share, 0)} of the gradient came from {word} labels, which"
        f" are {percent(facts.doubted, 0)} of the samples."
    )


def _suspects(facts: Facts) -> str:
    weak = (
        " The record of this network is not reliable evidence about labels: cross-fit the data"
        " (noiseproof labels find --data DATA --folds 5) before you change a label."
    )
    found = _suspected(facts) if facts.suspects else "No label is suspected."
    return found + (weak if facts.weak or underfits(facts) else "")


def _suspected(facts: Facts) -> str:
    found = f"{count(facts.suspects, 'label')} {'is' if facts.suspects == 1 else 'are'} suspected"
    rate = f" Noise is estimated at {percent(facts.noise_rate)}." if facts.noise_rate is not None else ""
    if facts.precision is None:
        return f"{found}: review the worst first.{rate}"
    return (
        f"{found}, without use of clean labels: {percent(facts.precision, 0)} of them are truly wrong, and"
        f" they are {percent(facts.recall, 0)} of all wrong labels.{rate}"
    )
