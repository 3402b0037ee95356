"""Numbers of runs, read from their folders or from CSV files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..atomic import write_text
from ..dynamics.accuracy import hybrid_accuracy
from ..dynamics.checks import read_json
from ..dynamics.run_folder import CONFIG, RESULT, RunFolder
from .cells import Cell, Table
from .plan import RUNS, Changes, plan, run_key

RUNS_CSV, EPOCHS_CSV = "runs.csv", "epochs.csv"
ABOUT = ("data", "noise", "model", "loss", "method", "seed", "precision", "epochs", "iterations")
"""Settings that are columns of ``runs.csv``."""
CURVES = ("epoch", "lr", "loss", "test_accuracy", "intact_accuracy", "corrupted_accuracy", "alpha", "snr")
OF_RESULT = {"final": "final_test_accuracy", "best": "best_test_accuracy", "alpha": "alpha", "snr": "snr"}
OF_TRAINING = ("corrupted", "intact", "clean_subset", "noisy_subset")
RETRIEVAL, RANKS = "retrieval.json", ("mAP", "CMC-1")
"""File in the folder of a run on MARS, and the numbers in it."""
OF_SELECTED = ("validation", "selected")
NUMBERS = ("final", "best", *OF_TRAINING, "hybrid", *OF_SELECTED, "class_spread", "alpha", "snr", *RANKS)
"""Numbers of a finished run, accuracies as fractions."""


class Result(NamedTuple):
    """A run of a cell: finished with numbers, failed with a problem, or neither."""

    name: str
    seed: int
    numbers: Mapping[str, float | None] | None = None
    problem: str | None = None


Results = Mapping[str, Result]
"""Finished runs by the hash of their config."""


def _numbers(run: RunFolder) -> dict[str, float | None]:
    """The numbers of a run by the names in ``NUMBERS``; None for those it does not have."""
    result, data = run.result or {}, run.manifest["data"]
    found: dict[str, Any] = {name: result.get(key) for name, key in OF_RESULT.items()}
    found |= {name: result.get("train", {}).get(name) for name in OF_TRAINING}
    tested = 0 if data["test"] is None else data["test"]["samples"]
    found["hybrid"] = hybrid_accuracy(found["final"], tested, found["intact"], data["train"]["samples"])
    chosen = result.get("selected") or {}
    found |= {"validation": chosen.get("validation_accuracy"), "selected": chosen.get("test_accuracy")}
    found["class_spread"] = _spread(_class_accuracy(run))
    ranks = run.folder / RETRIEVAL
    found |= dict.fromkeys(RANKS) | (read_json(ranks) if ranks.is_file() else {})
    return {name: None if found[name] is None else float(found[name]) for name in NUMBERS}


def _class_accuracy(run: RunFolder) -> list[float]:
    """Test accuracy of each class that has test samples, after the last epoch."""
    last: Mapping[str, Any] = (run.metrics or [{}])[-1]
    return [share for share in last.get("test_class_accuracy") or [] if share is not None]


def _spread(accuracies: Sequence[float]) -> float | None:
    """Accuracy of the best class minus that of the worst; None without accuracies."""
    return max(accuracies) - min(accuracies) if accuracies else None


def _run_folders(folder: Path) -> Iterator[tuple[str, RunFolder]]:
    """Every finished run below a folder, with its key."""
    for place in sorted((folder / RUNS).glob("*/")):
        key = run_key(place.name)
        if key is not None and (place / CONFIG).is_file() and (place / RESULT).is_file():
            yield key, RunFolder(place)


def read_folder(folder: str | Path) -> tuple[dict[str, Result], set[Changes]]:
    """The finished runs of a folder by key, and the changes from the papers that occur in them.

    A run whose numbers cannot be read has a ``problem`` with the error message.
    """
    found: dict[str, Result] = {}
    variants: set[Changes] = set()
    for key, run in _run_folders(Path(folder).expanduser()):
        found[key] = _result_of(run)
        variants |= set() if found[key].problem else {Changes.of(run.settings)}
    return found, variants


def _result_of(run: RunFolder) -> Result:
    if run.damage:
        return Result(run.folder.name, 0, problem=run.damage)
    try:
        return Result(run.folder.name, int(run.settings["seed"]), _numbers(run))
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        words = f"cannot read the numbers of {run.folder}: {problem!r}; remove the folder to train it again"
        return Result(run.folder.name, 0, problem=words)


class CellResults:
    """Assigns results to the cells of a table by the keys of their runs.

    Runs in all precisions are used. Shortened runs are used for cells that lack a run in some role; ``short``
    is the way they were shortened, by row and column.
    """

    def __init__(self, table: Table, results: Results, variants: Iterable[Changes] = ()) -> None:
        self.short: dict[tuple[str, str], Changes] = {}
        self.cells: dict[tuple[str, str], dict[str, list[Result]]] = {}
        shorter = [one for one in variants if one.is_shorter]
        shorter.sort(key=lambda x: (-(x.samples or math.inf), -(x.epochs or math.inf), x.precision or ""))
        complete: set[tuple[str, str]] = set()
        for changes in (Changes(), Changes(precision="bf16"), *shorter):
            left = tuple(cell for cell in table.cells if cell.place not in complete)
            found: dict[tuple[str, str], dict[str, list[Result]]] = {}
            for key, planned in plan(replace(table, cells=left), changes).items():
                for _, row, column, role in planned.cells:
                    runs = found.setdefault((row, column), {}).setdefault(role, [])
                    runs.extend([results[key]] if key in results else [])
            complete |= {place for place, roles in found.items() if all(roles.values())}
            used = {place for place in found if place in complete or place not in self.cells}
            self.cells |= {place: found[place] for place in used if any(found[place].values())}
            self.short |= dict.fromkeys(used & self.cells.keys(), changes) if changes.is_shorter else {}

    def __call__(self, cell: Cell) -> dict[str, list[Result]]:
        """The runs of a cell by their role."""
        return self.cells.get(cell.place, {})


def pack(folder: Path, target: Path, commit: str) -> int:
    """Write ``runs.csv`` and ``epochs.csv`` of all finished runs of a folder; return their number."""
    lines, curves = [], []
    for key, run in _run_folders(folder):
        curves += [{"run": key, **{name: line.get(name) for name in CURVES}} for line in run.metrics]
        if (numbers := _result_of(run).numbers) is not None:
            lines.append(_line(key, run, numbers, commit))
    target.mkdir(parents=True, exist_ok=True)
    write_text(target / RUNS_CSV, _as_csv(lines))
    write_text(target / EPOCHS_CSV, _as_csv(curves))
    return len(lines)


def _line(key: str, run: RunFolder, numbers: Mapping[str, Any], commit: str) -> dict[str, Any]:
    made = run.manifest.get("environment", {})
    return {
        "run": key,
        **{name: run.settings.get(name) for name in ABOUT},
        **numbers,
        "seconds": (run.result or {}).get("seconds"),
        "test_class_accuracy": " ".join(f"{100 * share:.1f}" for share in _class_accuracy(run)),
        "device": made.get("device"),
        "torch": made.get("torch"),
        "commit": commit,
    }


def _as_csv(lines: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})
    return text.getvalue()


def read_results(places: Iterable[str | Path]) -> tuple[dict[str, Result], set[Changes]]:
    """Like ``read_folder``, but from CSV files, or from all ``runs.csv`` below a folder."""
    found: dict[str, Result] = {}
    variants: set[Changes] = set()
    for path in _files(places):
        for line in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))):
            try:
                numbers = {name: float(line[name]) if line.get(name) else None for name in NUMBERS}
                of_classes = [float(word) / 100 for word in (line.get("test_class_accuracy") or "").split()]
                numbers["class_spread"] = _spread(of_classes)
                found[line["run"]] = Result(line["run"], int(line["seed"]), numbers)
                variants.add(Changes.of(line))
            except (KeyError, ValueError) as problem:
                why = f"it has no column {problem}" if isinstance(problem, KeyError) else problem
                raise ValueError(f"{path} is not a file of results: {why}") from None
    return found, variants


def _files(places: Iterable[str | Path]) -> Iterator[Path]:
    for place in map(Path, places):
        if not place.exists():
            raise FileNotFoundError(f"{place} does not exist: give a runs.csv, or a folder with such files")
        yield from sorted(place.rglob(RUNS_CSV)) if place.is_dir() else [place]
