"""What to write over the picture of a run: what it was trained with, and all that sets it apart."""

from __future__ import annotations

from collections.abc import Sequence

from ..report.evidence import Evidence
from ..report.groups import ASIDE, spec_of
from ..report.wording import drawn

HIDDEN = ASIDE - {"seed"}
LONGEST = 40
"""Signs of a part of a name."""


def names_of(runs: Sequence[Evidence]) -> list[str]:
    """One name for each run, all different: loss or method, data and network where they differ, noise.

    Example:
        >>> from noiseproof.report import example_record
        >>> names_of([Evidence(example_record()), Evidence(example_record(seed=1))])
        ['record', 'record (run 2)']
    """
    settings = [run.settings for run in runs]
    varying = [key for key in ("data", "model") if len({str(found.get(key)) for found in settings}) > 1]
    names = [_name(run, varying) for run in runs]
    longer = [_with_rest(number, names, runs) for number, _ in enumerate(runs)]
    return [
        name if name not in longer[:number] else f"{name} (run {number + 1})"
        for number, name in enumerate(longer)
    ]


def _name(run: Evidence, varying: Sequence[str]) -> str:
    settings = run.settings
    told = [
        key for key in ("data", "model") if key in varying or (key == "data" and not settings.get("noise"))
    ]
    parts = [spec_of(run), *(settings.get(key) for key in (*told, "noise"))]
    return ", ".join(drawn(part, LONGEST) for part in parts if part)


def _with_rest(number: int, names: Sequence[str], runs: Sequence[Evidence]) -> str:
    """The name, with the other settings that differ among runs of that name."""
    alike = [run.settings for name, run in zip(names, runs, strict=True) if name == names[number]]
    told = [
        drawn(f"{key}={value}", LONGEST)
        for key, value in runs[number].settings.items()
        if key not in HIDDEN and any(other.get(key) != value for other in alike)
    ]
    return ", ".join([names[number], *told])
