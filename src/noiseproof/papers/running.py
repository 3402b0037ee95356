"""Run a table, or a part of it: finished runs are kept, interrupted ones go on, failed ones are named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..atomic import explained, write_text
from ..data import load
from ..data.registry import parse_source
from ..data.sources.real_world import frame_of
from ..devices.device import pick_device
from ..dynamics.retrieval import rank_videos
from ..dynamics.run_folder import RESULT
from ..engines import check_engine
from ..grammar import written
from ..recipes.stage import save_array
from ..train import Config, Run
from ..train.batches import Views
from ..train.comparison.runs import ComparisonWatcher
from ..train.comparison.runs import compare as compare_runs
from ..train.evaluate import predict_features
from .cells import Table
from .comparing import Comparison, compare
from .describe import nothing_to_run
from .plan import HOME, Changes, Planned, plan, with_folder
from .results import RANKS, RETRIEVAL
from .tables import get


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
    others. The name of a run's folder ends with the key that ``papers plan`` shows.

    Args:
        table: a name such as "gr.table3", or a table; ``table.select`` gives a part of one.
        changes: what is not as in the paper: fewer epochs, another precision.
        jobs: runs at the same time, or per GPU with Ray.
        engine: "local", in processes of this machine, or "ray", on a cluster.

    Example:
        >>> import tempfile
        >>> from noiseproof.papers.cells import Cell, Runs
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
    with explained(place):
        place.mkdir(parents=True, exist_ok=True)
    first = {key: _config(one, place, device) for key, one in planned.items() if one.relabel_of is None}
    problems = train(first, jobs=jobs, watcher=watcher, engine=engine)
    again, unreadable = second_runs(planned, {key: first[key] for key in first if key not in problems}, place)
    problems |= unreadable | train(again, jobs=jobs, watcher=watcher, engine=engine)
    for config in first.values():
        look_for_people(config)
    return compare(whole, out=place, problems=problems, changes=changes)


def _config(planned: Planned, out: Path, device: str) -> Config:
    return with_folder(planned, out).replace(device=device)


def second_runs(
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


def check_options(engine: str, device: str, jobs: int | None) -> None:
    """Refuse, before anything is written, what no run could be trained with."""
    check_engine(engine)
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    pick_device(device)


def train(
    runs: Mapping[str, Config],
    *,
    jobs: int | None = None,
    watcher: ComparisonWatcher | None = None,
    engine: str = "local",
) -> dict[str, str]:
    """Train what is not finished, ``jobs`` at a time; what went wrong, by key."""
    if not runs:
        return {}
    outcomes = compare_runs(list(runs.values()), jobs=jobs, watcher=watcher, engine=engine).outcomes
    return {key: one.problem for key, one in zip(runs, outcomes, strict=True) if one.problem is not None}


def is_finished(config: Config) -> bool:
    """Whether its folder holds its result."""
    return (Path(str(config.out)) / RESULT).is_file()


def look_for_people(config: Config) -> None:
    """Write how well a finished run on MARS finds people it has not seen, unless that is known."""
    source, options = parse_source(config.data)
    target = Path(str(config.out), RETRIEVAL)
    if source != "mars" or target.is_file() or not is_finished(config):
        return
    data: Any = load(written(source, {**options, "people": "test"}))
    network, device = Run(target.parent).load_model(), pick_device(config.device)
    views = Views(config, data.sample_shape)
    features = predict_features(network.to(device), data, views.evaluation, device=device)
    paths = getattr(data.inputs, "base", data.inputs).paths  # all; the index says which are taken
    found = rank_videos(features, [frame_of(paths[number]) for number in data.index.tolist()])
    mean = found.mean_average_precision  # None where few samples have no match
    numbers = (mean, None if mean is None else float(found.cmc[0]))
    write_text(target, json.dumps(dict(zip(RANKS, numbers, strict=True))))


LABELS = "labels.npy"


def second_config(first: Config, folder: Path) -> Config:
    """Write the labels beside the folder of the second run, and say how to train on them.

    Reference:
        Gradient Rescaling, appendix E
    """
    run = Run(str(first.out))
    labels = folder.with_name(f"{folder.name}-{LABELS}").resolve()
    if not labels.is_file():
        predicted = run.outputs["train_probability"].argmax(1)
        index = run.record.index
        ordered = predicted.new_zeros(int(index.max()) + 1)
        ordered[index] = predicted
        save_array(labels, ordered)
    return first.replace(
        noise=f'human("{labels.as_posix()}")', exact_noise=False, out=folder.as_posix(), noise_seed=None
    )
