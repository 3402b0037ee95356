"""Select loss, method, learning rate and epochs of a training run by noisy validation labels."""

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
from ..train.task import with_source_and_folder
from .candidates import RATES, Candidate, candidates, initial_state

TRIALS = "choice"
"""Folder of the trials in the run folder; removed after the choice."""
VALIDATION = 0.2
"""Share of the training data that trials hold out, if the config has no validation data."""
MAX_VALIDATION_ROWS = 2000
"""Limit for the chosen run: comparing its epochs needs fewer rows than ranking candidates."""
ROUNDS = ((10, 5), (3, 2), (1, 1))
"""Divisor of the number of epochs, and number of candidates kept, for each round."""
WINDOW = 3
"""The score of a trial is its best mean validation accuracy over this number of successive epochs."""
MIN_STANDARD_ERRORS = 0.5
"""Standard errors by which an epoch must be better than the last to be recommended."""


class Trial(NamedTuple):
    """A short run: the candidate, its length, and its validation accuracy on given labels."""

    candidate: Candidate
    length: str
    agreement: float

    def __str__(self) -> str:
        return f"{self.candidate}, {self.length}: {100 * self.agreement:.1f}%"


class Choice(NamedTuple):
    """The config to train with, the reason in a sentence, and all trials."""

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
    log: Callable[[str], None] | None = None,
) -> Run:
    """``train.fit`` with the loss, method, learning rate and epochs that ``choose`` finds.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = fit(Config(noise="symmetric(0.4)", epochs=10, out=folder), rates=(5.0,))
        ...     print(run.choice)
        {'words': ...}
    """
    config = with_run_folder(config, data)
    choice = choose(config, data=data, model=model, watcher=watcher, rates=rates, log=log)
    return train_fit(choice.config, data=data, test=test, model=model, watcher=watcher)


def choose(
    config: Config,
    *,
    data: LabelledData | None = None,
    model: nn.Module | None = None,
    watcher: Watcher | None = None,
    rates: Sequence[float] = RATES,
    log: Callable[[str], None] | None = None,
) -> Choice:
    """Select among cross entropy, robust losses and ELR at several learning rates by successive halving.

    Candidates are ranked by accuracy on held-out given labels, which may be wrong too: higher accuracy on
    them means higher accuracy on right labels as long as noise does not depend on the network. Clean labels
    are never used. All candidates train for a tenth of the epochs, the five best for a third, the two best
    for all: how much a loss memorises shows late. The best then trains again, for a third of the epochs if
    all were no better and no number of epochs was given. Of equal candidates cross entropy is preferred.
    Losses that would underfit at the initial margins are scaled. Without validation data in the config,
    trials hold out a fifth of the rows, the chosen run at most 2,000.

    Trials are stored in the run folder until the choice is made; the same call resumes an interrupted one.
    The choice is stored in choice.json.

    Args:
        config: all other settings; its loss and method are ignored.
        rates: learning rates to try, as multiples of ``config.lr``.
        log: called with a line about each trial before it begins; by default the line is shown in a notebook.
    """
    config = with_run_folder(config, data)
    folder, log, watcher = run_folder(config), log or notebook_line(), watcher or Watcher()
    if (found := _stored_choice(folder, config)) is not None:
        return found
    is_given = bool(config.validation) or config.validation_data is not None
    settings = config if is_given else config.replace(validation=VALIDATION)
    short = settings.replace(loss="ce", test="none", record=False, patience=None, validation_labels="given")
    start = initial_state(short, data, model)
    remaining = candidates(config, start.margin, tuple(rates))
    trials: list[Trial] = []
    for part, kept in ROUNDS:
        length = _shortened(short, start.epochs, part)
        done = []
        for number, one in enumerate(remaining, start=1):
            log(f"trial {number} of {len(remaining)}: {one}, {_length(length)}")
            done.append(_run_trial(length, one, watcher, data=data, model=model))
        trials += done
        remaining = _best(done, kept)
    share = settings.validation if is_given else VALIDATION * min(1.0, MAX_VALIDATION_ROWS / start.validation)
    chosen = settings.replace(**remaining[0].settings(), validation=share)
    if config.iterations is None:
        chosen = chosen.replace(epochs=_epochs(config, start.epochs, remaining[0], trials))
    found = Choice(chosen, _in_words(chosen, remaining[0], trials, start.validation), tuple(map(str, trials)))
    _save_choice(folder, config, found, start.margin)
    return found


def which_epoch(run: Run) -> str:
    """Return "best" if validation accuracy fell clearly after the best epoch, otherwise "final".

    The accuracy of the best of many epochs is biased upwards, so that the last epoch is the default.
    """
    selected = (run.result or {}).get("selected")
    if selected is None:
        return "final"
    rows, best = run.manifest["data"]["validation"]["samples"], selected["validation_accuracy"]
    last = _validation_accuracies(run)[-WINDOW:]
    return "best" if best > _clearly_above(sum(last) / len(last), rows) else "final"


def _validation_accuracies(run: Run) -> list[float]:
    """Validation accuracy of each evaluated epoch."""
    found = [line.get("validation_accuracy") for line in run.metrics]
    return [share for share in found if share is not None]


def _clearly_above(share: float, rows: int) -> float:
    """The lowest share of ``rows`` labels that is clearly larger than ``share``."""
    return share + MIN_STANDARD_ERRORS * math.sqrt(share * (1 - share) / max(rows, 1))


def with_run_folder(config: Config, data: LabelledData | None) -> Config:
    """The config with the run folder as ``out``."""
    config = with_source_and_folder(config.replace(loss=AUTO, method=None), data)
    return config.replace(out=str(run_folder(config)))


def _shortened(config: Config, epochs: int, part: int) -> Config:
    if config.iterations is not None:
        return config.replace(iterations=max(1, config.iterations // part))
    return config.replace(epochs=max(1, epochs // part))


def _length(config: Config) -> str:
    return f"{config.epochs} epochs" if config.iterations is None else f"{config.iterations} steps"


def _run_trial(config: Config, one: Candidate, watcher: Watcher | None, **given: Any) -> Trial:
    """Train a candidate, or read its finished trial; a run that diverges scores 0."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{one} {_length(config)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # trials have too few steps
        try:
            run = stage(config.replace(**one.settings()), f"{TRIALS}/{name}", watcher=watcher, **given)
        except NonFiniteError:
            return Trial(one, _length(config), 0.0)
    accuracy = _validation_accuracies(run)
    width = min(WINDOW, len(accuracy))
    means = [sum(accuracy[at : at + width]) / width for at in range(len(accuracy) - width + 1)]
    return Trial(one, _length(config), max(means))


def _best(trials: Sequence[Trial], kept: int) -> list[Candidate]:
    """The best candidates; of equal ones, cross entropy comes first."""
    order = sorted(trials, key=lambda trial: (-trial.agreement, not trial.candidate.is_cross_entropy))
    return [trial.candidate for trial in order[:kept]]


def _epochs(config: Config, epochs: int, chosen: Candidate, trials: Sequence[Trial]) -> int:
    """All epochs, or a third if longer training was not better and no number of epochs was given."""
    *_, shorter, longer = [trial.agreement for trial in trials if trial.candidate == chosen]
    return epochs if longer > shorter or not config.is_default_length else max(1, epochs // ROUNDS[-2][0])


def _in_words(config: Config, chosen: Candidate, trials: Sequence[Trial], rows: int) -> str:
    last = {trial.candidate: trial for trial in trials}
    agreed = f"{100 * last[chosen].agreement:.1f}% of {rows:,} held-out labels"
    how = "none predicted more in trials of this length"
    if not chosen.is_cross_entropy:
        best = max((last[one] for one in last if one.is_cross_entropy), key=lambda trial: trial.agreement)
        how = f"cross entropy predicted {100 * best.agreement:.1f}% in {best.length}"
    return f"{chosen}, {_length(config)}: in a trial it predicted {agreed}; of {len(last)} settings, {how}"


def _save_choice(folder: Path, requested: Config, choice: Choice, margin: float) -> None:
    facts = {
        "words": choice.words,
        "trials": choice.trials,
        "margin_before_training": round(margin, 4),
        "config": choice.config.to_dict(),
        "asked": json.loads(requested.to_json()),
    }
    atomic.make_folder(folder)
    atomic.write_text(folder / CHOICE, json.dumps(facts, indent=2) + "\n")
    _remove_trials(folder)


def _remove_trials(folder: Path) -> None:
    atomic.refuse_link(folder / TRIALS)
    shutil.rmtree(folder / TRIALS, ignore_errors=True)


def _stored_choice(folder: Path, config: Config) -> Choice | None:
    """The choice stored in the folder, if any; RunExistsError if the folder is of another run."""
    path = folder / CHOICE
    if not path.is_file():
        if (folder / CONFIG).is_file():
            raise RunExistsError(f"{folder} is a run without --loss auto: choose another --out")
        return None
    facts = read_json(path)
    try:
        requested, chosen = (Config.from_dict(facts[name]) for name in ("asked", "config"))
        words, trials = str(facts["words"]), tuple(map(str, facts["trials"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise damaged(path, f"it does not contain a choice ({problem})") from None
    if found := requested.differences(config):
        raise RunExistsError(
            f"{folder} is a run of another config ({'; '.join(found)}): choose another --out, or the same"
            " settings to resume it"
        )
    _remove_trials(folder)
    return Choice(chosen.replace(**{name: getattr(config, name) for name in NEUTRAL}), words, trials)
