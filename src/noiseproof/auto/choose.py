"""Loss, method, learning rate and length of a training run, chosen by noisy validation."""

from __future__ import annotations

import json
import math
import re
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from .. import atomic
from ..data import LabelledData
from ..dynamics.checks import damaged, read_json
from ..dynamics.run_folder import CHOICE, CONFIG
from ..recipes.stage import stage
from ..train import Config, NonFiniteError, Run, RunExistsError, Watcher
from ..train import fit as train_fit
from ..train.callbacks import notebook_line
from ..train.config import AUTO, NEUTRAL, run_folder
from ..train.task import settled
from .candidates import RATES, Candidate, candidates, start_of

TRIALS = "choice"
"""The folder of the trials, below that of the run; gone when the choice is made."""
VALIDATION = 0.2
"""Share of the training data that chooses, where the config holds out none."""
ROUNDS = ((10, 3), (3, 1))
"""Each round trains on this fraction (one tenth, one third) of the epochs and keeps so many candidates."""
SMOOTH = 3
"""A trial is worth its best mean validation accuracy over so many epochs."""
CLEARLY = 0.5
"""Standard errors by which another candidate must be better than cross entropy, or an epoch than the last."""


class Trial(NamedTuple):
    """A short run: what was tried, for how long, and what share of validation labels it predicted."""

    candidate: Candidate
    length: str
    agreement: float

    def __str__(self) -> str:
        return f"{self.candidate}, {self.length}: {100 * self.agreement:.1f}%"


class Choice(NamedTuple):
    """The config to train with, why in a sentence, and all trials."""

    config: Config
    words: str
    trials: tuple[str, ...]


def fit(
    config: Config,
    *,
    data: LabelledData | None = None,
    test: LabelledData | None = None,
    model: nn.Module | None = None,
    watcher: Watcher | None = None,
    rates: Sequence[float] = RATES,
    tell: Callable[[str], None] | None = None,
) -> Run:
    """``train.fit`` with the loss, method, learning rate and epochs that ``choose`` finds.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = fit(Config(noise="symmetric(0.4)", epochs=10, out=folder), rates=(5.0,))
        ...     print(run.choice)
        {'words': ...}
    """
    config = placed(config, data)
    choice = choose(config, data=data, model=model, watcher=watcher, rates=rates, tell=tell)
    return train_fit(choice.config, data=data, test=test, model=model, watcher=watcher)


def choose(
    config: Config,
    *,
    data: LabelledData | None = None,
    model: nn.Module | None = None,
    watcher: Watcher | None = None,
    rates: Sequence[float] = RATES,
    tell: Callable[[str], None] | None = None,
) -> Choice:
    """Try cross entropy, robust losses and ELR at several learning rates; the best on held-out labels wins.

    Validation labels may be wrong, like all others: what predicts more of them predicts more right ones, as
    long as noise does not depend on the network. Clean labels are never used. Ten to twelve runs of a tenth
    of the epochs leave three candidates and cross entropy for a third of the epochs; the config of the best
    trains in full, or only for a third of the epochs where that was no better than a tenth and no number of
    epochs was given. Losses that would underfit at the margins this network starts with are tried scaled.

    The trials lie below ``out`` of the config until the choice is made; the same call goes on where an
    interrupted one stopped. The choice stays in choice.json.

    Args:
        config: all other settings; its loss and method do not matter.
        rates: learning rates to try, as multiples of ``config.lr``.
        tell: is called with a line about each trial before it begins; shown in a notebook if left out.
    """
    config = placed(config, data)
    folder, tell, watcher = run_folder(config), tell or notebook_line(), watcher or Watcher()
    if (found := _chosen_before(folder, config)) is not None:
        return found
    settings = config if config.validation else config.replace(validation=VALIDATION)
    short = settings.replace(loss="ce", test="none", record=False, patience=None, validation_labels="given")
    start = start_of(short, data, model)
    left = candidates(config, start.margin, tuple(rates))
    trials: list[Trial] = []
    for part, kept in ROUNDS:
        length = _shortened(short, start.epochs, part)
        done = []
        for number, one in enumerate(left, start=1):
            tell(f"trial {number} of {len(left)}: {one}, {_length(length)}")
            done.append(_try(length, one, watcher, data=data, model=model))
        trials += done
        left = _best(done, kept, start.validation)
    chosen = settings.replace(**left[0].settings())
    if config.iterations is None:
        chosen = chosen.replace(epochs=_epochs(config, start.epochs, left[0], trials))
    found = Choice(chosen, _in_words(chosen, left[0], trials, start.validation), tuple(map(str, trials)))
    _keep(folder, config, found, start.margin)
    return found


def which_epoch(run: Run) -> str:
    """ "final", or "best" where validation shows that the network got clearly worse since its best epoch.

    The best of many epochs is partly luck, so the last one is taken where nothing speaks against it.
    """
    selected = (run.result or {}).get("selected")
    if selected is None:
        return "final"
    rows, best = run.manifest["data"]["validation"]["samples"], selected["validation_accuracy"]
    last = _validated(run)[-SMOOTH:]
    return "best" if best > _clearly_above(sum(last) / len(last), rows) else "final"


def _validated(run: Run) -> list[float]:
    """Validation accuracies of the epochs that were evaluated."""
    found = [line.get("validation_accuracy") for line in run.metrics]
    return [share for share in found if share is not None]


def _clearly_above(share: float, rows: int) -> float:
    """What another share of so many labels must exceed to be clearly larger."""
    return share + CLEARLY * math.sqrt(share * (1 - share) / max(rows, 1))


def placed(config: Config, data: LabelledData | None) -> Config:
    """The config with the folder its run will have."""
    config = settled(config.replace(loss=AUTO, method=None), data)
    return config.replace(out=str(run_folder(config)))


def _shortened(config: Config, epochs: int, part: int) -> Config:
    if config.iterations is not None:
        return config.replace(iterations=max(1, config.iterations // part))
    return config.replace(epochs=max(1, epochs // part))


def _length(config: Config) -> str:
    return f"{config.epochs} epochs" if config.iterations is None else f"{config.iterations} steps"


def _try(config: Config, one: Candidate, watcher: Watcher | None, **given: Any) -> Trial:
    """Train a candidate, or take the trial that is already there; one that diverges is worth nothing."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{one} {_length(config)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of too few steps, which is what a trial has
        try:
            run = stage(config.replace(**one.settings()), f"{TRIALS}/{name}", watcher=watcher, **given)
        except NonFiniteError:
            return Trial(one, _length(config), 0.0)
    seen = _validated(run)
    width = min(SMOOTH, len(seen))
    means = [sum(seen[at : at + width]) / width for at in range(len(seen) - width + 1)]
    return Trial(one, _length(config), max(means))


def _best(trials: Sequence[Trial], kept: int, rows: int) -> list[Candidate]:
    """The best candidates, best first; cross entropy too, and in front of all that are not clearly better."""
    order = sorted(trials, key=lambda trial: -trial.agreement)
    usual = next(trial for trial in order if trial.candidate.is_usual)
    if kept > 1:
        return [trial.candidate for trial in order if trial in order[:kept] or trial is usual]
    clearly = _clearly_above(usual.agreement, rows)
    return [order[0].candidate if order[0].agreement > clearly else usual.candidate]


def _epochs(config: Config, epochs: int, chosen: Candidate, trials: Sequence[Trial]) -> int:
    """All of them, or a third where longer training brought nothing and nobody gave a number."""
    shorter, longer = [trial.agreement for trial in trials if trial.candidate == chosen]
    return epochs if longer > shorter or not config.is_default_length else max(1, epochs // ROUNDS[-1][0])


def _in_words(config: Config, chosen: Candidate, trials: Sequence[Trial], rows: int) -> str:
    last = {trial.candidate: trial.agreement for trial in trials}
    usual = max(share for one, share in last.items() if one.is_usual)
    agreed = f"{100 * last[chosen]:.1f}% of {rows:,} held-out labels"
    how = "none predicted clearly more" if chosen.is_usual else f"cross entropy predicted {100 * usual:.1f}%"
    return f"{chosen}, {_length(config)}: in a trial it predicted {agreed}; of {len(last)} settings, {how}"


def _keep(folder: Path, asked: Config, choice: Choice, margin: float) -> None:
    facts = {
        "words": choice.words,
        "trials": choice.trials,
        "margin_before_training": round(margin, 4),
        "config": choice.config.to_dict(),
        "asked": asked.to_dict(),
    }
    atomic.make_folder(folder)
    atomic.write_text(folder / CHOICE, json.dumps(facts, indent=2) + "\n")
    _remove_trials(folder)


def _remove_trials(folder: Path) -> None:
    atomic.refuse_link(folder / TRIALS)
    shutil.rmtree(folder / TRIALS, ignore_errors=True)


def _chosen_before(folder: Path, config: Config) -> Choice | None:
    """The choice that lies in the folder; RunExistsError if the folder is of something else."""
    path = folder / CHOICE
    if not path.is_file():
        if (folder / CONFIG).is_file():
            raise RunExistsError(f"{folder} is a run whose loss was not chosen: choose another --out")
        return None
    facts = read_json(path)
    try:
        asked, chosen = (Config.from_dict(facts[name]) for name in ("asked", "config"))
        words, trials = str(facts["words"]), tuple(map(str, facts["trials"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise damaged(path, f"it holds no choice ({problem})") from None
    if found := asked.differences(config):
        raise RunExistsError(
            f"{folder} is a run of another config ({'; '.join(found)}): choose another --out, or the same"
            " settings to resume it"
        )
    _remove_trials(folder)
    return Choice(chosen.replace(**{name: getattr(config, name) for name in NEUTRAL}), words, trials)
