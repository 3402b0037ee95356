"""Train a shortened run for every cell that has no run yet: a part of the paper's epochs, one seed.

    python tables/short_runs.py --divide-by 8 --table gr.table3 --out runs/short --pack tables/results/NAME

Milestones of the schedule shrink with the epochs. ``noiseproof papers tally`` labels such cells and leaves
them out of the agreement. With ``--part 1/4`` four processes train a quarter of the runs each.
"""

import argparse
from pathlib import Path

from noiseproof.papers.cells import Runs, Table
from noiseproof.papers.comparing import compare_with
from noiseproof.papers.plan import Changes, PlannedRun, plan, recipe_epochs
from noiseproof.papers.queue import PackingWatcher, QueuedRun, estimated_seconds, train_queue
from noiseproof.papers.results import read_results
from noiseproof.papers.tables import get
from noiseproof.train.comparison.runs import ComparisonWatcher

PRECISION = "bf16"


class Lines(PackingWatcher):
    """Prints a line when a run begins or ends."""

    def update(self, config, event, details):
        if event in ("begin", "finished", "failed"):
            print(event, config.out, details or "", flush=True)
        super().update(config, event, details)


def missing_cells(table: Table, done: Path) -> set[tuple[str, str]]:
    """Rows and columns that can be run and have no result."""
    entries = compare_with(table, *read_results([done])).entries
    return {one.cell.place for one in entries if isinstance(one.cell.filling, Runs) and one.ours is None}


def short_runs(table: Table, missing: set[tuple[str, str]], divide_by: float) -> dict[str, PlannedRun]:
    """The first seed of every missing cell, with a part of its epochs."""
    found: dict[str, PlannedRun] = {}
    fillings = {place: table.cell(*place).filling for place in missing}
    lengths = {
        place: max(1, round(recipe_epochs(one.settings) / divide_by)) for place, one in fillings.items()
    }
    for epochs in sorted(set(lengths.values())):
        for key, planned in plan(table, Changes(epochs=epochs, precision=PRECISION)).items():
            planned.cells = [
                cell
                for cell in planned.cells
                if lengths.get(cell[1:3]) == epochs and planned.config.seed == fillings[cell[1:3]].seeds[0]
            ]
            if planned.cells:
                found[key] = planned
    return found


def queue(options: argparse.Namespace) -> list[QueuedRun]:
    """Runs that fill many cells per second come first."""
    found: dict[str, QueuedRun] = {}
    for name in options.table:
        table = get(name)
        for key, planned in short_runs(table, missing_cells(table, options.done), options.divide_by).items():
            if planned.config.model not in (options.model or [planned.config.model]):
                continue
            one = found.setdefault(key, QueuedRun(key, planned, estimated_seconds(planned.config)))
            if one.planned is not planned:
                planned.cells.extend(one.planned.cells)
                one.planned = planned
    return sorted(found.values(), key=lambda one: (-len(one.planned.cells) / one.seconds, one.key))


def part_of(runs: list[QueuedRun], part: str) -> list[QueuedRun]:
    """One of several interleaved parts; a run on predicted labels stays with its first run."""
    number, count = map(int, part.split("/"))
    first = [one.key for one in runs if one.planned.relabel_of is None]
    mine = set(first[number - 1 :: count])
    return [one for one in runs if (one.planned.relabel_of or one.key) in mine]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--divide-by", type=float, default=8.0, help="the paper's epochs are divided by this")
    parser.add_argument("--table", action="append", required=True)
    parser.add_argument("--model", action="append")
    parser.add_argument("--done", type=Path, default=Path("tables/results"))
    parser.add_argument("--out", type=Path, default=Path("runs/short"))
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--dry", action="store_true", help="only print the runs")
    options = parser.parse_args()
    runs = part_of(queue(options), options.part)
    cells = {cell[:3] for one in runs for cell in one.planned.cells}
    print(f"{len(runs)} runs, {len(cells)} cells, about {sum(one.seconds for one in runs):.0f} s", flush=True)
    if options.dry:
        for one in runs:
            print(f"{one.seconds:5.0f} s {len(one.planned.cells):3} cells  {one.planned.folder}")
        return
    watcher = Lines(ComparisonWatcher(), options.out, options.pack, options.commit)
    problems = train_queue(runs, out=options.out, minutes=options.minutes, jobs=options.jobs, watcher=watcher)
    for key, problem in problems.items():
        print(key, problem, flush=True)
    if problems:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
