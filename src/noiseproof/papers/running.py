"""Train the runs of a table: finished runs are kept, interrupted ones resumed, failed ones reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..atomic import explained, write_text
from ..data import load
from ..data.locations import data_root
from ..data.registry import parse_source
from ..data.sources.real_world import frame_of, mars_queries
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
from .describe import no_runs_message
from .plan import HOME, Changes, PlannedRun, plan, with_folder
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
    """Train every run of a table and compare the results with the printed numbers.

    Finished runs are kept, interrupted ones are resumed; failed ones are listed in the result and do not stop
    the others. The name of the folder of a run ends with the key shown by ``papers plan``.

    Args:
        table: a name such as "gr.table3", or a table; ``table.select`` gives a part of one.
        changes: settings that differ from the paper: fewer epochs, another precision.
        jobs: number of runs at the same time, with Ray per GPU.
        engine: "local" for processes of this machine, or "ray" for a cluster.

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
        raise ValueError(no_runs_message(whole))
    check_options(engine, device, jobs)
    with explained(place):
        place.mkdir(parents=True, exist_ok=True)
    first = {key: _config(one, place, device) for key, one in planned.items() if one.relabel_of is None}
    problems = train(first, jobs=jobs, watcher=watcher, engine=engine)
    trained = {key: first[key] for key in first if key not in problems}
    again, unreadable = relabelled_runs(planned, trained, place)
    problems |= unreadable | train(again, jobs=jobs, watcher=watcher, engine=engine)
    for config in first.values():
        evaluate_mars(config)
    return compare(whole, out=place, problems=problems, changes=changes)


def _config(planned: PlannedRun, out: Path, device: str) -> Config:
    return with_folder(planned, out).replace(device=device)


def relabelled_runs(
    planned: Mapping[str, PlannedRun], first: Mapping[str, Config], out: Path
) -> tuple[dict[str, Config], dict[str, str]]:
    """The runs on labels predicted by finished first runs, and error messages for unreadable predictions."""
    again, unreadable = dict[str, Config](), dict[str, str]()
    for key, one in planned.items():
        before = first.get(one.relabel_of or "")
        if before is None or not is_finished(before):
            continue
        try:
            again[key] = relabelled_config(before, out / one.folder)
        except (ValueError, KeyError) as problem:
            unreadable[key] = (
                f"no predictions in {before.out}: {problem}; remove the folder to train it again"
            )
    return again, unreadable


def check_options(engine: str, device: str, jobs: int | None) -> None:
    """Raise for options with which no run can be trained, before anything is written."""
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
    """Train the unfinished runs, ``jobs`` at a time; return error messages by key."""
    if not runs:
        return {}
    outcomes = compare_runs(list(runs.values()), jobs=jobs, watcher=watcher, engine=engine).outcomes
    return {key: one.problem for key, one in zip(runs, outcomes, strict=True) if one.problem is not None}


def is_finished(config: Config) -> bool:
    """Whether the folder of the run contains its result."""
    return (Path(str(config.out)) / RESULT).is_file()


def evaluate_mars(config: Config) -> None:
    """Write mAP and CMC-1 of a finished run on MARS into its folder, unless they exist.

    They measure how well videos of people who are not in the training data are retrieved.
    """
    source, options = parse_source(config.data)
    target = Path(str(config.out), RETRIEVAL)
    if source != "mars" or target.is_file() or not is_finished(config):
        return
    data: Any = load(written(source, {**options, "people": "test"}))
    network, device = Run(target.parent).load_model(), pick_device(config.device)
    views = Views(config, data.sample_shape)
    features = predict_features(network.to(device), data, views.evaluation, device=device)
    paths = getattr(data.inputs, "base", data.inputs).paths  # of all samples; the index selects
    queries = mars_queries(Path(str(options.get("root") or data_root())))
    found = rank_videos(features, [frame_of(paths[number]) for number in data.index.tolist()], queries)
    mean = found.mean_average_precision  # None where few samples have no match
    numbers = (mean, None if mean is None else float(found.cmc[0]), queries is not None)
    write_text(target, json.dumps(dict(zip((*RANKS, "official_queries"), numbers, strict=True))))


LABELS = "labels.npy"


def relabelled_config(first: Config, folder: Path) -> Config:
    """Write the labels predicted by the first run, and return the config of the second run.

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
