"""Runs that differ by their seed alone, taken together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .evidence import Evidence

ASIDE = frozenset({"seed", "noise_seed", "out", "device", "loop", "record", "checkpoint_seconds"})
"""Settings that do not make another experiment."""
TASK = ("data", "noise", "model")
"""What a loss was tried on."""


@dataclass(frozen=True)
class Group:
    """One experiment: its runs have the same settings and different seeds."""

    name: str
    spec: str
    runs: tuple[Evidence, ...]


def groups_of(runs: Sequence[Evidence]) -> list[Group]:
    """Groups in the order of their first runs; a run with no like stands alone.

    Two runs of the same settings and the same seed are not two seeds: they stay apart, and so do records,
    which have no settings.

    Example:
        >>> from noiseproof.report import example_record
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
    names = _names([members[0] for members in found])
    return [Group(name, spec_of(runs[0]), runs) for name, runs in zip(names, found, strict=True)]


def spec_of(run: Evidence) -> str:
    """What a run was trained with: its method, else its loss, else how it is called."""
    return str(run.settings.get("method") or run.settings.get("loss") or run.name)


def _kind(run: Evidence) -> str:
    kept = {name: value for name, value in run.settings.items() if name not in ASIDE}
    return json.dumps(kept, sort_keys=True, default=str)


def _names(runs: Sequence[Evidence]) -> list[str]:
    """The loss or method, and data, noise and network where they differ at all.

    Where that is the same, also the other settings that differ, else the folder.
    """
    specs, everyone = [spec_of(run) for run in runs], [run.settings for run in runs]
    names = []
    for run, spec in zip(runs, specs, strict=True):
        alike = [other.settings for other, its in zip(runs, specs, strict=True) if its == spec]
        told = [
            f"{name}={value}"
            for name, value in run.settings.items()
            if name not in ASIDE
            and value is not None
            and any(other.get(name) != value for other in (everyone if name in TASK else alike))
        ]
        names.append(", ".join([spec, *told]))
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({run.name})" for name, run in zip(names, runs, strict=True)
    ]
