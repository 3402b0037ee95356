"""Lazy, cached access to a run or a record for figures and pages, and grouping of runs by seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from ..dynamics import Record, RunFolder
from ..losses import MarginLoss
from ..losses import get as get_loss

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


Source: TypeAlias = "RunFolder | Record | Evidence | str | Path"
"""The argument of every figure: a run, its folder, or a record."""


class NotAvailableError(ValueError):
    """The run does not have the data of a figure; the message says which are missing."""


class Evidence:
    """The data of a run for figures, loaded on first use and cached.

    ``doubted`` marks wrong labels if clean labels are known, otherwise the suspects of ``labels.find``;
    ``word`` is "wrong" or "suspected" accordingly.
    """

    def __init__(
        self, source: RunFolder | Record | str | Path, *, loss: MarginLoss | str | None = None
    ) -> None:
        if not isinstance(source, (RunFolder, Record, str, Path)):
            kind = type(source).__name__
            raise TypeError(f"expected a run, the folder of a run, or a Record, got {kind}")
        self.run = RunFolder(source) if isinstance(source, (str, Path)) else source
        self.given_loss = loss

    @classmethod
    def of(cls, source: Source, *, loss: MarginLoss | str | None = None) -> Evidence:
        """Evidence as it is, or of a run or record."""
        if isinstance(source, Evidence):
            return source if loss is None else cls(source.run, loss=loss)
        return cls(source, loss=loss)

    @cached_property
    def record(self) -> Record:
        if isinstance(self.run, Record):
            return self.run
        try:
            found = self.run.record
        except FileNotFoundError:
            raise NotAvailableError("the run has no record: train with record=True") from None
        if found.epochs == 0 or len(found) == 0:
            raise NotAvailableError("the record is empty: train for at least one epoch")
        return found

    @cached_property
    def settings(self) -> dict[str, Any]:
        return {} if isinstance(self.run, Record) else self.run.settings

    @cached_property
    def choice(self) -> str:
        """The reason for an automatically chosen loss; "" otherwise."""
        found = None if isinstance(self.run, Record) else self.run.choice
        return "" if found is None else str(found.get("words", ""))

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        return [] if isinstance(self.run, Record) else self.run.metrics

    @cached_property
    def outputs(self) -> dict[str, Tensor]:
        return {} if isinstance(self.run, Record) else self.run.outputs

    @property
    def name(self) -> str:
        return "record" if isinstance(self.run, Record) else self.run.name

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Class names of the record, or of the manifest if there is no record."""
        try:
            return self.record.class_names
        except NotAvailableError:
            manifest = {} if isinstance(self.run, Record) else self.run.manifest
            return tuple(str(name) for name in manifest.get("data", {}).get("class_names", ()))

    def class_name(self, number: int) -> str:
        return self.class_names[number] if 0 <= number < len(self.class_names) else str(number)

    @cached_property
    def loss(self) -> MarginLoss | None:
        """The loss of the run if it is a MarginLoss; None for methods and other losses."""
        spec = self.given_loss or (None if self.settings.get("method") else self.settings.get("loss"))
        try:
            loss = get_loss(spec) if spec else None
        except (ValueError, TypeError):
            return None
        return loss if isinstance(loss, MarginLoss) else None

    @property
    def loss_name(self) -> str:
        """The spec as the user wrote it, without defaults."""
        return str(self.given_loss or self.settings.get("loss"))

    @property
    def is_known(self) -> bool:
        """Whether clean labels are known."""
        return self.record.clean_label is not None

    @property
    def has_wrong(self) -> bool:
        """Whether any label is known to be wrong; otherwise clean labels may be copies of the labels."""
        flipped = self.record.flipped
        return flipped is not None and bool(flipped.any())

    @property
    def word(self) -> str:
        return "wrong" if self.is_known else "suspected"

    @cached_property
    def doubted(self) -> Tensor:
        """(N,) bool: wrong labels, or suspected labels if clean labels are not known."""
        flipped = self.record.flipped
        if flipped is not None:
            return flipped
        return self.suspected

    @cached_property
    def suspected(self) -> Tensor:
        """(N,) bool: labels that ``labels.find`` suspects."""
        return torch.tensor(self.suspects["is_label_issue"].to_numpy(dtype=bool))

    @cached_property
    def suspects(self) -> pd.DataFrame:
        """``labels.find`` of the run: one row per sample, in the order of the record."""
        from ..labels import find

        return find(self.record, statistics=False)

    def emphasis(self, epoch: int) -> Tensor:
        """(N,) float32: emphasis of each sample in an epoch, counted from 0."""
        record = self.record
        if "emphasis" in record.extra:
            return record.extra["emphasis"][epoch].float()
        if self.loss is None:
            raise NotAvailableError("the emphasis was not recorded and does not follow from the margin alone")
        return self.loss.evaluate(record.margin[epoch].float(), num_classes=record.num_classes)[1]

    def along(self, x: str, epochs: Iterable[int]) -> list[int]:
        """Positions of epochs on the x axis: the epochs, or for ``x="iteration"`` the steps at their ends."""
        if x == "epoch":
            return list(epochs)
        if x != "iteration":
            raise ValueError(f"x={x!r} is unknown, choose 'epoch' or 'iteration'")
        steps = {int(line["epoch"]): int(line["step"]) for line in self.metrics if "step" in line}
        try:
            return [steps[epoch] for epoch in epochs]
        except KeyError as missing:
            raise NotAvailableError(
                f"{self.name} does not say how many steps it had done after epoch {missing}"
            ) from None

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """Epochs and values of a metric, without the epochs that have none."""
        found = [
            (int(line["epoch"]), float(line[name])) for line in self.metrics if line.get(name) is not None
        ]
        if not found:
            raise NotAvailableError(f"{name.replace('_', ' ')} was not measured in this run")
        return [epoch for epoch, _ in found], [value for _, value in found]


IGNORED = frozenset({"seed", "noise_seed", "out", "device", "loop", "record", "checkpoint_seconds"})
"""Settings in which runs of the same experiment may differ."""
TASK = ("data", "noise", "model")
"""Settings of the task that losses are compared on."""


@dataclass(frozen=True)
class Group:
    """An experiment: runs with the same settings and different seeds."""

    name: str
    spec: str
    runs: tuple[Evidence, ...]


def groups_of(runs: Sequence[Evidence]) -> list[Group]:
    """Group runs that differ only in their seed, in the order of their first runs.

    Runs with equal settings and equal seeds are separate groups, and so are records, which have no settings.

    Example:
        >>> from noiseproof.testing import example_record
        >>> len(groups_of([Evidence(example_record()), Evidence(example_record(seed=1))]))
        2
    """
    kinds: dict[str, list[Evidence]] = {}
    for run in runs:
        kinds.setdefault(_kind(run), []).append(run)
    found: list[tuple[Evidence, ...]] = []
    for members in kinds.values():
        seeds = [str(run.settings.get("seed")) for run in members]
        found += [tuple(members)] if len(set(seeds)) == len(seeds) else [(run,) for run in members]
    names = names_of([members[0] for members in found])
    return [Group(name, spec_of(runs[0]), runs) for name, runs in zip(names, found, strict=True)]


def spec_of(run: Evidence) -> str:
    """The method of a run, else its loss, else its name."""
    return str(run.settings.get("method") or run.settings.get("loss") or run.name)


def _kind(run: Evidence) -> str:
    kept = {name: value for name, value in run.settings.items() if name not in IGNORED}
    return json.dumps(kept, sort_keys=True, default=str)


def names_of(runs: Sequence[Evidence]) -> list[str]:
    """Unique names: loss or method, with data, noise and network if these differ between the runs.

    Runs with the same loss or method are distinguished by other settings that differ, else by the folder.
    """
    specs, everyone = [spec_of(run) for run in runs], [run.settings for run in runs]
    names = []
    for run, spec in zip(runs, specs, strict=True):
        alike = [other.settings for other, its in zip(runs, specs, strict=True) if its == spec]
        differences = [
            f"{name}={value}"
            for name, value in run.settings.items()
            if name not in IGNORED
            and value is not None
            and any(other.get(name) != value for other in (everyone if name in TASK else alike))
        ]
        names.append(", ".join([spec, *differences]))
    times = Counter(names)
    full = [
        name if times[name] == 1 else f"{name} ({run.name})" for name, run in zip(names, runs, strict=True)
    ]
    return [name if name not in full[:k] else f"{name} (run {k + 1})" for k, name in enumerate(full)]
