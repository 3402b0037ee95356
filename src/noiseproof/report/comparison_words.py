"""Several experiments in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from .facts import Facts
from .groups import Group
from .wording import count, percent, points, shown


def title_of(groups: Sequence[Group]) -> str:
    """How many experiments, and seeds where each has the same number."""
    numbers = {len(group.runs) for group in groups}
    title = f"{count(len(groups), 'run' if numbers == {1} else 'experiment')} compared"
    if numbers == {1}:
        return title
    return f"{title}, {count(numbers.pop(), 'seed')} each" if len(numbers) == 1 else title


def winner(means: Sequence[Facts]) -> int:
    """Place of the highest final test accuracy; without a test, of the fewest doubted labels repeated.

    Not of the best epoch, which nobody could have known.
    """
    tested = [place for place, fact in enumerate(means) if fact.final_test is not None]
    if tested:
        return max(tested, key=lambda place: means[place].final_test or 0.0)
    return min(range(len(means)), key=lambda place: 1.0 if (m := means[place].memorised) is None else m)


def common(groups: Sequence[Group]) -> str:
    """What all were trained on, as far as it is the same; empty where nothing is."""
    settings = [run.settings for group in groups for run in group.runs]
    same = {
        name: value
        for name in ("data", "noise", "model", "epochs")
        if (value := settings[0].get(name)) is not None
        and all(other.get(name) == value for other in settings)
    }
    if "data" not in same:
        return ""
    words = f"All were trained on {same['data']}"
    words += f" with noise {same['noise']}" if "noise" in same else ""
    words += f", with the network {same['model']}" if "model" in same else ""
    words += f", for {same['epochs']} epochs" if "epochs" in same else ""
    return shown(f"{words}.", 400)


def compare(groups: Sequence[Group], means: Sequence[Facts]) -> list[str]:
    """The differences in words: who ends best, who memorises most."""
    named = list(zip([shown(group.name, 80) for group in groups], means, strict=True))
    sentences = []
    tested = [(fact.final_test, name) for name, fact in named if fact.final_test is not None]
    if len(tested) > 1:
        (top, best), (low, worst) = max(tested), min(tested)
        mean = ", the mean of its seeds" if any(len(group.runs) > 1 for group in groups) else ""
        sentences.append(
            f"{best} ends with the highest test accuracy, {percent(top)}{mean}: {points(top - low)} above"
            f" {worst}."
        )
    kept = [(fact.memorised, name) for name, fact in named if fact.memorised is not None]
    if len(kept) > 1:
        (least, quiet), (most, loud) = min(kept), max(kept)
        known = {run.word for group in groups for run in group.runs}
        words = known.pop() if len(known) == 1 else "wrong or suspected"
        sentences.append(
            f"{loud} repeats {percent(most, 0)} of the {words} labels, {quiet} {percent(least, 0)}."
        )
    return sentences
