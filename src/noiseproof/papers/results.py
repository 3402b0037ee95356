"""Numbers of runs, from their folders or from CSV files that outlive them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..atomic import write_text
from ..dynamics.accuracy import hybrid_accuracy
from ..dynamics.run_folder import CONFIG, RESULT, RunFolder
from .cells import Cell, Runs, Table
from .plan import RUNS, Changes, key_of, plan

RUNS_CSV, EPOCHS_CSV = "runs.csv", "epochs.csv"
ABOUT = ("data", "noise", "model", "loss", "method", "seed", "precision", "epochs", "iterations")
"""Settings that a line shows; ``config`` has all that are not the default."""
CURVES = ("epoch", "lr", "loss", "test_accuracy", "intact_accuracy", "corrupted_accuracy", "alpha", "snr")


Number = Callable[[RunFolder], "float | None"]


def _fitted(name: str) -> Number:
    return lambda run: (run.result or {}).get("train", {}).get(name)


def _of_result(name: str) -> Number:
    return lambda run: (run.result or {}).get(name)


def _hybrid(run: RunFolder) -> float | None:
    """Test data and all training inputs together, both with true labels."""
    data = run.manifest["data"]
    tested = 0 if data["test"] is None else data["test"]["samples"]
    final, intact = NUMBERS["final"](run), NUMBERS["intact"](run)
    return hybrid_accuracy(final, tested, intact, data["train"]["samples"])


def _selected(run: RunFolder) -> float | None:
    """Accuracy on validation data, which have wrong labels too, at the epoch they chose."""
    return ((run.result or {}).get("selected") or {}).get("validation_accuracy")


def _class_spread(run: RunFolder) -> float | None:
    """Test accuracy of the best class less that of the worst, after the last epoch."""
    last: Mapping[str, Any] = (run.metrics or [{}])[-1]
    return spread(last.get("test_class_accuracy") or [])


def spread(accuracies: Sequence[float]) -> float | None:
    return max(accuracies) - min(accuracies) if accuracies else None


NUMBERS: dict[str, Number] = {
    "final": _of_result("final_test_accuracy"),
    "best": _of_result("best_test_accuracy"),
    "corrupted": _fitted("corrupted"),
    "intact": _fitted("intact"),
    "clean_subset": _fitted("clean_subset"),
    "noisy_subset": _fitted("noisy_subset"),
    "hybrid": _hybrid,
    "validation": _selected,
    "class_spread": _class_spread,
    "alpha": _of_result("alpha"),
    "snr": _of_result("snr"),
}
"""Name to the number of a finished run, as a share; None where the run cannot say."""


class Result(NamedTuple):
    """A run of a cell: finished with numbers, failed with a problem, or neither."""

    name: str
    seed: int
    numbers: Mapping[str, float | None] | None = None
    problem: str | None = None


Results = Mapping[str, Result]
"""Finished runs by the hash of their config."""


def run_folders(folder: Path) -> Iterator[tuple[str, RunFolder]]:
    """Every run below a folder that has a result, with the key that ends its name."""
    for place in sorted((folder / RUNS).glob("*/")):
        key = key_of(place.name)
        if key is not None and (place / CONFIG).is_file() and (place / RESULT).is_file():
            yield key, RunFolder(place)


def read_folder(folder: str | Path) -> tuple[dict[str, Result], set[int]]:
    """Finished runs of a folder of runs, and the numbers of their epochs.

    Runs whose numbers cannot be read have a problem with its remedy.
    """
    found: dict[str, Result] = {}
    epochs: set[int] = set()
    for key, run in run_folders(Path(folder).expanduser()):
        found[key] = result_of(run)
        number = None if run.damage else run.settings.get("epochs")
        epochs |= {int(number)} if isinstance(number, int) else set()
    return found, epochs


def result_of(run: RunFolder) -> Result:
    name = run.folder.name
    if run.damage:
        return Result(name, 0, problem=run.damage)
    try:
        numbers = {
            key: None if (value := read(run)) is None else float(value) for key, read in NUMBERS.items()
        }
        return Result(name, int(run.settings["seed"]), numbers)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        words = f"cannot read the numbers of {run.folder}: {problem!r}; remove the folder to train it again"
        return Result(name, 0, problem=words)


class OfCells:
    """Results, by the key of their run, as those of the cells of a table.

    A run counts whatever its precision; one that was cut short counts where no whole one is there, and
    ``short`` has the number of epochs of such cells.
    """

    def __init__(self, table: Table, results: Results, epochs: Iterable[int] = ()) -> None:
        self.short: dict[tuple[str, str], int] = {}
        self.cells: dict[tuple[str, str], dict[str, list[Result]]] = {}
        runnable = [cell for cell in table.cells if isinstance(cell.filling, Runs)]
        short = [Changes(number, kind) for number in sorted(epochs, reverse=True) for kind in (None, "bf16")]
        for changes in (Changes(), Changes(precision="bf16"), *short):
            left = tuple(cell for cell in runnable if (cell.row, cell.column) not in self.cells)
            found = self._found(Table(table.name, table.title, left), results, changes)
            self.cells |= found
            self.short |= dict.fromkeys(found, changes.epochs) if changes.epochs else {}

    def _found(
        self, table: Table, results: Results, changes: Changes
    ) -> dict[tuple[str, str], dict[str, list[Result]]]:
        found: dict[tuple[str, str], dict[str, list[Result]]] = {}
        for key, planned in plan(table, changes).items():
            for _, row, column, role in planned.cells if key in results else ():
                found.setdefault((row, column), {}).setdefault(role, []).append(results[key])
        return found

    def __call__(self, cell: Cell) -> dict[str, list[Result]]:
        return self.cells.get((cell.row, cell.column), {})


def lines_of(folder: Path, commit: str) -> Iterator[dict[str, Any]]:
    """A line for every finished run of a folder of runs."""
    for key, run in run_folders(folder):
        result = result_of(run)
        if result.numbers is None:
            continue
        made, last = run.manifest.get("environment", {}), (run.metrics or [{}])[-1]
        yield {
            "run": key,
            **{name: run.settings.get(name) for name in ABOUT},
            **result.numbers,
            "seconds": (run.result or {}).get("seconds"),
            "test_class_accuracy": " ".join(f"{100 * v:.1f}" for v in last.get("test_class_accuracy") or []),
            "device": made.get("device"),
            "torch": made.get("torch"),
            "commit": commit,
        }


def epoch_lines(folder: Path) -> Iterator[dict[str, Any]]:
    """A line for every epoch of every finished run."""
    for key, run in run_folders(folder):
        for line in run.metrics:
            yield {"run": key, **{name: line.get(name) for name in CURVES}}


def pack(folder: Path, target: Path, commit: str) -> int:
    """Write ``runs.csv`` and ``epochs.csv`` of all finished runs of a folder; how many there are."""
    lines = list(lines_of(folder, commit))
    target.mkdir(parents=True, exist_ok=True)
    write_text(target / RUNS_CSV, as_csv(lines))
    write_text(target / EPOCHS_CSV, as_csv(list(epoch_lines(folder))))
    return len(lines)


def as_csv(lines: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})
    return text.getvalue()


def read_results(places: Iterable[str | Path]) -> tuple[dict[str, Result], set[int]]:
    """Finished runs of CSV files, or of all ``runs.csv`` below a folder, and the numbers of their epochs."""
    found: dict[str, Result] = {}
    epochs: set[int] = set()
    for path in _files(places):
        for line in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))):
            try:
                numbers = {name: float(line[name]) if line.get(name) else None for name in NUMBERS}
                of_classes = [float(word) / 100 for word in (line.get("test_class_accuracy") or "").split()]
                numbers["class_spread"] = spread(of_classes)
                found[line["run"]] = Result(line["run"], int(line["seed"]), numbers)
                epochs |= {int(line["epochs"])} if line.get("epochs") else set()
            except (KeyError, ValueError) as problem:
                raise ValueError(f"{path} is not a file of results: {problem!r}") from None
    return found, epochs


def _files(places: Iterable[str | Path]) -> Iterator[Path]:
    for place in map(Path, places):
        if not place.exists():
            raise FileNotFoundError(f"{place} does not exist: name a runs.csv, or a folder that has some")
        yield from sorted(place.rglob(RUNS_CSV)) if place.is_dir() else [place]
