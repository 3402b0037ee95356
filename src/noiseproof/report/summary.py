"""A run in plain words."""

from __future__ import annotations

from .evidence import Evidence
from .facts import Facts
from .wording import count, percent, points, shown

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

    Good is a network that fits right labels and not wrong ones. Where none is known to be wrong nobody can
    say more than how many are suspected.
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
        return f"It did not believe most of the wrong labels, but {_unlearned(facts)}."
    return "It learned from the right labels and did not believe most of the wrong ones."


def _suspicion(facts: Facts) -> str:
    if facts.weak:
        return "It learned too little to say which labels are wrong."
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
    found = _found(facts) if facts.suspects else "No label is suspected."
    return found + (weak if facts.weak or underfits(facts) else "")


def _found(facts: Facts) -> str:
    found = f"{count(facts.suspects, 'label')} {'is' if facts.suspects == 1 else 'are'} suspected"
    rate = f" Noise is estimated at {percent(facts.noise_rate)}." if facts.noise_rate is not None else ""
    if facts.precision is None:
        return f"{found}: look at the worst first.{rate}"
    return (
        f"{found} without looking at the truth: {percent(facts.precision, 0)} of them are really wrong, and"
        f" they are {percent(facts.recall, 0)} of all wrong labels.{rate}"
    )
