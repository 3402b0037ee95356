"""``write_corrected``: the data of a run with the decisions about its labels, in the form of the original."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from ...data import ImageFiles, LabelledData, load
from ...data.locations import NoSplitError, split_path
from ...data.numpy_files import map_npy
from ...data.registry import parse_source
from ...data.sources.table_file import COMPRESSED, separator_of
from ...dynamics import RunFolder
from ...memory import is_large
from ..apply import Decisions, held_decisions
from ..original_rows import TABLES
from ..run_data import training_data
from .arrays_file import LABELS, changes_of, relabelled, write_arrays, write_npy, write_npz
from .edit import Edit, decided, edit_of
from .image_folder import FILE, LABEL, copy_tree, manifest_text
from .log import MARK, Change, ChangeLog, log_path, made
from .parquet_table import write_parquet_table
from .place import check_free, check_log, default_target, dropped_path, file_hash
from .text_table import PACKERS, write_text_table


@dataclass(frozen=True)
class Corrected:
    """What was written."""

    path: Path
    log: Path
    about: ChangeLog
    conflicts: int
    """Samples about which people decided differently without having seen each other; the later one held."""

    @property
    def data(self) -> str:
        """The source to train on."""
        return self.about.data

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.about.changes


@dataclass(frozen=True)
class Job:
    """The original and where its correction goes."""

    data: LabelledData
    """As the source has them, without noise of the run."""
    name: str
    options: Mapping[str, Any]
    edit: Edit
    run: RunFolder
    out: Path | None


def write_corrected(
    run: RunFolder | str | Path,
    decisions: Decisions | None = None,
    *,
    relabel: float | None = None,
    drop: float | None = None,
    folds: int | None = None,
    out: str | Path | None = None,
    copy: bool = False,
) -> Corrected:
    """Write the training data of a run with corrected labels as a new file in the form of the original.

    A table keeps all columns, their order, names and types; .npz and .npy files keep their arrays; a folder
    of images becomes a table of its files, or with ``copy`` a tree of copies; data without a file become an
    .npz file in the run folder. The original is never changed. Beside the new file lie a log of the changes
    and the rows that were dropped, from which ``revert`` makes the original again.

    Args:
        decisions: by default those of the run folder, and for samples without a decision the rules:
        relabel: replace a label by the suggested class where that is right with at least this probability.
        drop: drop a sample whose label is wrong with at least this probability.
        folds: for the rules, cross-fit the data in so many parts instead of reading the record of the run.
        out: the new file, by default beside the original with ``.corrected`` in its name.
    """
    run = run if isinstance(run, RunFolder) else RunFolder(run)
    if decisions is None:
        held = decided(run, relabel=relabel, drop=drop, folds=folds)
    else:
        held = held_decisions(decisions)
    spec = str(run.settings.get("data"))
    name, options = parse_source(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # who trained on them was warned
        original = load(spec, duplicates="ignore")
    job = Job(
        original,
        name,
        options,
        edit_of(held, _trained(run), original),
        run,
        None if out is None else Path(out),
    )
    about = _write(job, copy)
    about = replace(about, test=_test_source(run, spec, about))
    about.write(log_path(Path(about.corrected)))
    conflicts = sum(state.conflict is not None for state in held.values())
    return Corrected(Path(about.corrected), log_path(Path(about.corrected)), about, conflicts)


def _trained(run: RunFolder) -> LabelledData:
    try:
        return training_data(run)
    except ValueError as problem:
        raise ValueError(f"the data of {run.folder} cannot be corrected: {problem}") from None


def _write(job: Job, copy: bool) -> ChangeLog:
    if copy and job.name != "folder":
        raise ValueError(f"copy is for a folder of images, the run was trained on {job.name}")
    if job.name in TABLES:
        return _table(job)
    if job.name == "folder":
        return _tree(job) if copy else _manifest(job)
    if job.name in ("arrays", "npz"):
        return _npz(job) if str(job.options["path"]).endswith(".npz") else _npy(job)
    return _in_memory(job)


def _table(job: Job) -> ChangeLog:
    source = split_path(job.name, str(job.options["path"]), "train")
    packed = source.suffix.lower() in COMPRESSED and source.suffix.lower() not in PACKERS
    target = _target(job, source.with_suffix("") if packed else source)
    if job.options.get("image") is not None and target.parent.resolve() != source.parent.resolve():
        raise ValueError(f"{source} names images relative to its folder: choose --out in {source.parent}")
    label = str(job.options.get("label", "label"))
    names = job.data.class_names
    expected = {row: names[number] for row, number in _labels(job.data)}
    is_text = separator_of(source) is not None
    write = write_text_table if is_text else write_parquet_table
    gone = dropped_path(target) if job.edit.drop else None
    rows = write(source, target, gone, label, job.edit, names, expected)
    options = {**job.options, "path": target.as_posix()}
    return _log(job, source, target, gone, rows, "csv" if is_text else "parquet", job.name, options, label)


def _manifest(job: Job) -> ChangeLog:
    """The table of the files as they are, and then corrected as any table."""
    root = split_path("folder", str(job.options["path"]), "train")
    target = _target(job, root.with_name(f"{root.name}.csv"))
    inputs, names = job.data.inputs, job.data.class_names
    assert isinstance(inputs, ImageFiles)  # noqa: S101
    labels = [names[number] for _, number in _labels(job.data)]
    content = manifest_text(inputs.paths, labels, target.parent)
    place = {row: position for position, row in enumerate(job.data.index.tolist())}
    edit = Edit(
        {place[row]: number for row, number in job.edit.relabel.items()},
        frozenset(place[row] for row in job.edit.drop),
    )
    gone = dropped_path(target) if edit.drop else None
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "files.csv")
        plain.write_bytes(content)
        rows = write_text_table(plain, target, gone, LABEL, edit, names, dict(enumerate(labels)))
    number = job.data.index.tolist()
    rows = [(number[row], before, after) for row, before, after in rows]
    rest = {word: job.options[word] for word in ("size", "mode", "on_error") if word in job.options}
    options = {"path": target.as_posix(), "image": FILE, "label": LABEL, **rest}
    return _log(job, root, target, gone, rows, "csv", "csv", options, LABEL)


def _tree(job: Job) -> ChangeLog:
    root = split_path("folder", str(job.options["path"]), "train")
    target = job.out or root.with_name(f"{root.name}{MARK}")
    if target.exists():
        raise FileExistsError(f"{target} is there: remove it, or choose another --out")
    check_log(target)
    inputs = job.data.inputs
    assert isinstance(inputs, ImageFiles)  # noqa: S101
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        rows = copy_tree(job.data, inputs.paths, root, Path(folder, "tree"), job.edit)
        Path(folder, "tree").rename(target)
    options = {**job.options, "path": target.as_posix()}
    return _log(job, root, target, None, rows, "tree", "folder", options)


def _npz(job: Job) -> ChangeLog:
    source = Path(str(job.options["path"])).expanduser()
    target = _target(job, source)
    gone = dropped_path(target) if job.edit.drop else None
    rows = write_npz(source, target, gone, job.edit, job.data.label.numpy())
    return _log(job, source, target, gone, rows, "npz", job.name, {**job.options, "path": target.as_posix()})


def _npy(job: Job) -> ChangeLog:
    """Labels are written anew; inputs only if rows were dropped."""
    source = split_path("arrays", str(job.options["labels"]), "train")
    target, label = _target(job, source), map_npy(source, "read")
    after = relabelled(label, job.edit, job.data.label.numpy())
    rows = changes_of(label, after, job.edit)
    kept = np.array([row for row in range(len(label)) if row not in job.edit.drop], np.int64)
    write_npy(after[kept], target)
    options = {**job.options, "labels": target.as_posix()}
    if job.edit.drop:
        inputs = split_path("arrays", str(job.options["path"]), "train")
        place = _target(replace(job, out=None), inputs).with_name(default_target(inputs).name)
        write_npy(map_npy(inputs, "read")[kept], place)
        options["path"] = place.as_posix()
    else:
        options["path"] = split_path("arrays", str(job.options["path"]), "train").as_posix()
    return _log(job, source, target, None, rows, "npy", job.name, options)


def _in_memory(job: Job) -> ChangeLog:
    """Data that did not come from a file, as an .npz file."""
    target = job.out or job.run.folder / f"{job.name}{MARK}.npz"
    if target.suffix != ".npz":
        raise ValueError(f"cannot write {target}: {job.name} is written as .npz")
    check_free(target, None)
    first = job.data.batch([0]).input
    if is_large(2 * len(job.data) * first.numel() * first.element_size()):
        raise ValueError(
            f"{job.name} is too large to be written as one .npz file: use labels.apply in Python"
        )
    arrays = _as_arrays(job.data, "train")
    with suppress(NoSplitError):
        arrays |= _as_arrays(load(str(job.run.settings["data"]), split="test"), "test")
    gone = dropped_path(target) if job.edit.drop else None
    rows = write_arrays(arrays, target, gone, job.edit, job.data.label.numpy())
    return _log(job, target, target, gone, rows, "npz", "npz", {"path": target.as_posix()})


def _as_arrays(data: LabelledData, split: str) -> dict[str, Any]:
    whole = data.batch(slice(None))
    return {f"x_{split}": whole.input.numpy(), f"{LABELS[0]}_{split}": whole.label.numpy()}


def _labels(data: LabelledData) -> zip[tuple[int, int]]:
    return zip(data.index.tolist(), data.label.tolist(), strict=True)


def _target(job: Job, source: Path) -> Path:
    target = job.out or default_target(source)
    if "".join(source.suffixes[-1:]).lower() != "".join(target.suffixes[-1:]).lower():
        raise ValueError(
            f"cannot write {target}: the original is {source.name}, give a name that ends the same"
        )
    check_free(target, source)
    return target


def _log(
    job: Job,
    original: Path,
    target: Path,
    dropped: Path | None,
    rows: list[tuple[int, str, str | None]],
    kind: str,
    source: str,
    options: Mapping[str, Any],
    label: str | None = None,
) -> ChangeLog:
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return ChangeLog(
        original=str(original),
        sha256=file_hash(original) if original != target else "",
        corrected=str(target),
        dropped=None if dropped is None else dropped.name,
        label=label,
        kind=kind,
        run=str(job.run.folder),
        data=_source_text(source, options),
        test=None,
        time=now,
        changes=made(rows, job.edit.why, now),
    )


def _source_text(name: str, options: Mapping[str, Any]) -> str:
    """A source with double quotes, which a shell leaves alone between single ones.

    >>> print(_source_text("csv", {"path": "rows.csv", "size": 8}))
    csv(path="rows.csv", size=8)
    """
    told = {
        word: json.dumps(value) if isinstance(value, str) else repr(value) for word, value in options.items()
    }
    return f"{name}({', '.join(f'{word}={value}' for word, value in told.items())})"


def _test_source(run: RunFolder, spec: str, about: ChangeLog) -> str | None:
    """What to test on, where it is not the test split of the corrected data."""
    given = run.settings.get("test")
    if given is not None:
        return str(given)
    return spec if "{split}" in spec and "{split}" not in about.data else None
