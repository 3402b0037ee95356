"""The runs of a comparison and their table: mean and standard deviation over the same seeds."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...atomic import write_text
from ..config import NEUTRAL, Config, run_folder

VARIED = frozenset({"loss", "method", "seed"})
"""Settings that differ between the runs of one comparison."""


def grid(
    config: Config,
    *,
    losses: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: int | Iterable[int] = 5,
    out: str | Path | None = None,
) -> list[Config]:
    """Every loss alone, then every method with the loss of ``config``, each with every seed.

    Without losses and methods: ``config`` itself with every seed. Each run has a folder below ``out``, named
    after its settings: equal settings have the same folder, different settings never do.

    Example:
        >>> runs = grid(Config(epochs=3), losses=["ce", "mae"], seeds=2, out="runs/both")
        >>> [(run.loss, run.seed) for run in runs]
        [('ce', 0), ('ce', 1), ('mae', 0), ('mae', 1)]
        >>> runs[2].out
        'runs/both/digits-mae-seed0-...'
    """
    for name, given in {"losses": losses, "methods": methods}.items():
        if isinstance(given, str):
            raise TypeError(f"{name}={given!r} is one string: write {name}=[{given!r}]")
    if out is not None and not str(out).strip():
        raise ValueError(f"out={out!r} is not a folder: give one such as runs/first, or leave it out")
    place = comparison_folder(config) if out is None else Path(out).expanduser()
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    if not numbers:
        raise ValueError(f"seeds={seeds!r}: a comparison needs at least one seed")
    kinds = [config.replace(loss=loss, method=None) for loss in dict.fromkeys(losses)]
    kinds += [config.replace(method=method) for method in dict.fromkeys(methods)]
    runs = [kind.replace(seed=seed, out=None) for kind in kinds or [config] for seed in numbers]
    return [run.replace(out=(place / run_folder(run).name).as_posix()) for run in runs]


def comparison_folder(config: Config) -> Path:
    """The default folder of a comparison; it does not depend on losses, methods and seeds.

    Example:
        >>> comparison_folder(Config(noise="pair(0.2)", loss="mae")).as_posix()
        'runs/compare-digits-pair-0.2-...'
    """
    settings = {name: value for name, value in config.to_dict().items() if name not in NEUTRAL | VARIED}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    name = run_folder(config.replace(loss="ce", method=None, seed=0, out=None)).name
    return Path("runs", f"compare-{name.rpartition('-ce-seed0-')[0]}-{digest}")


def row_name(config: Config, others: Sequence[Config]) -> str:
    """The name of a row: the loss or method of its runs, or all settings that differ between rows.

    Example:
        >>> row_name(Config(loss="mae"), [Config(), Config(loss="mae")])
        'mae'
        >>> row_name(Config(lr=0.1), [Config(), Config(lr=0.1)])
        'lr=0.1'
    """
    mine, differing = config.to_dict(), set()
    for other in others:
        theirs = other.to_dict()
        differing |= {name for name in mine if mine[name] != theirs[name]}
    differing -= {*NEUTRAL, "seed", "noise_seed"}
    if differing <= {"loss", "method"}:
        return config.method or config.loss
    shown = [name for name in mine if name in differing and mine[name] is not None]
    return ", ".join(f"{name}={mine[name]}" for name in shown)


NUMBERS = {"final": "final %", "best": "best %", "selected": "selected %", "memorised": "memorised"}
"""Name -> heading of an averaged number: test accuracies and the share of wrong labels that is predicted."""
GAIN = "gain"


@dataclass(frozen=True)
class Outcome:
    """One run of a comparison: its result, or the error message."""

    config: Config
    folder: Path
    result: dict[str, Any] | None = None
    problem: str | None = None

    def number(self, name: str) -> float | None:
        """The ``final``, ``best`` or ``selected`` test accuracy, or the ``memorised`` share of labels."""
        found = self.result or {}
        if name == "selected":
            return (found.get("selected") or {}).get("test_accuracy")
        if name == "memorised":
            return (found.get("train") or {}).get("noisy_subset")
        return found.get(f"{name}_test_accuracy")


@dataclass(frozen=True)
class Row:
    """One loss or method with all its runs, finished or failed."""

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def seeds(self) -> list[int]:
        return [outcome.config.seed for outcome in self.outcomes if outcome.result is not None]

    def numbers(self, name: str) -> list[float]:
        found = [outcome.number(name) for outcome in self.outcomes]
        return [number for number in found if number is not None]

    def mean(self, name: str) -> float | None:
        found = self.numbers(name)
        return statistics.fmean(found) if found else None

    def std(self, name: str) -> float | None:
        """Standard deviation of the sample (n - 1); None for fewer than two runs."""
        found = self.numbers(name)
        return statistics.stdev(found) if len(found) > 1 else None


class Comparison:
    """The result of ``compare``: ``rows`` in order; the others are compared with the first.

    Example:
        >>> def run(loss, seed, final):
        ...     result = {"final_test_accuracy": final, "best_test_accuracy": 0.9}
        ...     return Outcome(Config(loss=loss, seed=seed), Path("x"), result)
        >>> runs = [run("ce", 0, 0.7), run("ce", 1, 0.72), run("mae", 0, 0.9), run("mae", 1, 0.9)]
        >>> print(Comparison(runs).to_markdown())
        | run | seeds | final % | gain | best % |
        |---|---|---|---|---|
        | `ce` | 2 | 71.0 ± 1.4 |  | 90.0 ± 0.0 |
        | `mae` | 2 | 90.0 ± 0.0 | +19.0 | 90.0 ± 0.0 |
    """

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = list(outcomes)
        configs = [outcome.config for outcome in outcomes]
        groups: dict[str, list[Outcome]] = {}
        for outcome in outcomes:
            groups.setdefault(row_name(outcome.config, configs), []).append(outcome)
        self.rows = [Row(name, tuple(found)) for name, found in groups.items()]

    @property
    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.problem is not None]

    def difference(self, row: Row) -> float | None:
        """Final test accuracy minus that of the first row; None for the first row."""
        mine, first = row.mean("final"), self.rows[0].mean("final")
        return None if row is self.rows[0] or mine is None or first is None else mine - first

    @property
    def headings(self) -> list[str]:
        return list(self.cells()[0])

    def cells(self) -> list[dict[str, str]]:
        """Every row as text by heading, without numbers that no run has."""
        shown = [name for name in NUMBERS if any(row.numbers(name) for row in self.rows)]
        table = []
        for row in self.rows:
            cells = {"run": row.name, "seeds": str(len(row.seeds))}
            for name in shown:
                cells[NUMBERS[name]] = _plus_minus(row.mean(name), row.std(name))
                if name == "final":
                    gap = self.difference(row)
                    cells[GAIN] = "" if gap is None else f"{100 * gap:+.1f}"
            table.append(cells)
        return table

    def to_markdown(self) -> str:
        lines = [self.headings, ["---"] * len(self.headings)]
        for cells in self.cells():
            lines.append([f"`{cells['run']}`", *list(cells.values())[1:]])
        text = ["| " + " | ".join(part.replace("|", "\\|") for part in line) + " |" for line in lines]
        return "\n".join([text[0], text[1].replace(" ", ""), *text[2:]])

    def to_dict(self) -> dict[str, Any]:
        """Plain values: accuracies as fractions, None for unknown ones."""
        first = self.outcomes[0].config.to_dict()
        every = [outcome.config.to_dict() for outcome in self.outcomes]
        same = {k: v for k, v in first.items() if k not in NEUTRAL and all(one[k] == v for one in every)}
        return {"settings": same, "rows": [self._plain(row) for row in self.rows]}

    def _plain(self, row: Row) -> dict[str, Any]:
        missing = len(row.outcomes) - len(row.seeds)
        found: dict[str, Any] = {"run": row.name, "seeds": row.seeds, "failed": missing}
        for name in NUMBERS:
            found |= {f"{name}_mean": row.mean(name), f"{name}_std": row.std(name)}
        found["final_against_first"] = self.difference(row)
        found["runs"] = [
            {"seed": one.config.seed, "folder": str(one.folder), "problem": one.problem, "result": one.result}
            for one in row.outcomes
        ]
        return found

    def to_csv(self) -> str:
        rows = self.to_dict()["rows"]
        file = io.StringIO()
        writer = csv.DictWriter(file, [name for name in rows[0] if name != "runs"], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            plain = {name: value for name, value in row.items() if name != "runs"}
            writer.writerow(plain | {"seeds": len(row["seeds"])})
        return file.getvalue()

    def write(self, folder: str | Path) -> list[Path]:
        """Write table.csv, table.md and table.json into this folder."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        texts = {
            "table.csv": self.to_csv(),
            "table.md": self.to_markdown() + "\n",
            "table.json": json.dumps(self.to_dict(), indent=2) + "\n",
        }
        for name, text in texts.items():
            write_text(place / name, text)
        return [place / name for name in texts]


def _plus_minus(mean: float | None, std: float | None) -> str:
    if mean is None:
        return "-"
    return f"{100 * mean:.1f}" if std is None else f"{100 * mean:.1f} ± {100 * std:.1f}"
