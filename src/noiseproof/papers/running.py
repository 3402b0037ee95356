"""Run a table, or a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..train import Config
from ..train.compare_runs import ComparisonWatcher
from .comparing import compare
from .description import nothing_to_run
from .entry import Comparison
from .manifest import HOME, updated
from .plan import Changes, Planned, plan, with_folder
from .relabel import second_config
from .table import Table
from .tables import get
from .training import check_options, is_finished, train


def run(
    table: str | Table,
    *,
    out: str | Path = HOME,
    changes: Changes = Changes(),
    device: str = "auto",
    jobs: int | None = None,
    engine: str = "local",
    watcher: ComparisonWatcher | None = None,
) -> Comparison:
    """Train every run of a table and set the results beside the printed numbers.

    Finished runs are kept, interrupted ones go on, failed ones are named in the result and do not stop the
    others. ``manifest.json`` in ``out`` says which run is which.

    Args:
        table: a name such as "gr.table3", or a table; ``table.select`` gives a part of one.
        changes: what is not as in the paper: fewer epochs, another precision.
        jobs: runs at the same time, or per GPU with Ray.
        engine: "local", in processes of this machine, or "ray", on a cluster.

    Example:
        >>> import tempfile
        >>> from noiseproof.papers.filling import Runs
        >>> from noiseproof.papers.table import Cell
        >>> quick = Runs({"data": "digits", "loss": "mae", "epochs": 1}, seeds=(0,))
        >>> mine = Table("mine.table1", "Mine", (Cell("mae", "clean", "test_accuracy_%", 90.0, quick),))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run(mine, out=folder, jobs=1).entries[0].finished
        1
    """
    whole, place = get(table), Path(out).expanduser()
    planned = plan(whole, changes)
    if not planned:
        raise ValueError(nothing_to_run(whole))
    check_options(engine, device, jobs)
    with updated(place) as manifest:
        manifest.add(whole.name, changes, planned)
    first = {key: _config(one, place, device) for key, one in planned.items() if one.relabel_of is None}
    problems = train(first, jobs=jobs, watcher=watcher, engine=engine)
    again, unreadable = _second(planned, {key: first[key] for key in first if key not in problems}, place)
    problems |= unreadable | train(again, jobs=jobs, watcher=watcher, engine=engine)
    with updated(place) as manifest:
        manifest.add(whole.name, changes, planned)
        manifest.note_problems(planned, problems)
    return compare(whole, out=place)


def _config(planned: Planned, out: Path, device: str) -> Config:
    return with_folder(planned, out).replace(device=device)


def _second(
    planned: Mapping[str, Planned], first: Mapping[str, Config], out: Path
) -> tuple[dict[str, Config], dict[str, str]]:
    """Runs on corrected labels, of the first runs that came to their end, and whose labels cannot be read."""
    again, unreadable = dict[str, Config](), dict[str, str]()
    for key, one in planned.items():
        before = first.get(one.relabel_of or "")
        if before is None or not is_finished(before):
            continue
        try:
            again[key] = second_config(before, out / one.folder)
        except (ValueError, KeyError) as problem:
            unreadable[key] = f"no labels in {before.out}: {problem}; remove the folder to train it again"
    return again, unreadable
