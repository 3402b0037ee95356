"""``write_corrected``: write the data of a run with corrected labels in the format of the original."""

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
from ...data.registry import IN_MEMORY, parse_source
from ...data.sources.table_file import COMPRESSED, separator_of
from ...dynamics import RunFolder
from ...memory import is_large
from ..apply import Decisions, current_decisions
from ..original_rows import TABLES
from ..run_data import judged_data
from .arrays_file import LABELS, changes_of, relabelled, write_arrays, write_npy, write_npz
from .edit import Edit, collect_decisions, make_edit
from .image_folder import FILE, LABEL, copy_tree, manifest_text
from .log import MARK, Change, ChangeLog, changes_with_reasons, log_path
from .output_file import check_log, check_target, default_target, dropped_path, file_hash
from .parquet_table import write_parquet_table
from .text_table import COMPRESSORS, write_text_table


@dataclass(frozen=True)
class Corrected:
    """Result of ``write_corrected``: the new file, the file of its log, and the content of the log."""

    path: Path
    log: Path
    change_log: ChangeLog
    conflicts: int
    """Number of samples with conflicting decisions, of which the later one was applied."""

    @property
    def data(self) -> str:
        """The corrected data as a source to train on."""
        return self.change_log.data

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.change_log.changes


@dataclass(frozen=True)
class Job:
    """The original, its changes and the output path."""

    data: LabelledData
    """The original data, without the noise of the run."""
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
    """Write the data of a run with corrected labels to a new file in the format of the original.

    The rows are those of training and validation. A table keeps all columns, their order, names and types;
    .npz and .npy files keep their arrays; a folder of images is written as a table of its files, or with
    ``copy`` as a tree of copies; data without a file are written as an .npz file into the run folder. The
    original is never changed. A log of the changes and the dropped rows are written next to the new file;
    ``revert`` restores the original from them.

    Args:
        decisions: by default those of the run folder, and rules for samples without a decision.
        relabel: rule: use the suggested class if it is right with at least this probability.
        drop: rule: drop a sample if its label is wrong with at least this probability.
        folds: for rules, cross-fit the data with this number of folds instead of reading the record.
        out: the new file, by default next to the original with ``.corrected`` in its name.
    """
    run = run if isinstance(run, RunFolder) else RunFolder(run)
    spec = str(run.settings.get("data"))
    name, options = parse_source(spec)
    if name == IN_MEMORY:
        raise ValueError(f"{run.folder} was trained on data passed in Python: correct them with labels.apply")
    if copy and name != "folder":
        raise ValueError(f"copy needs a folder of images, but the run was trained on {name}")
    if decisions is None:
        states = collect_decisions(run, relabel=relabel, drop=drop, folds=folds)
    else:
        states = current_decisions(decisions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # training has warned already
        original = load(spec, duplicates="ignore")
    job = Job(
        original,
        name,
        options,
        make_edit(states, judged_data(run), original),
        run,
        None if out is None else Path(out),
    )
    log = _write(job, copy)
    log = replace(log, test=_test_source(run, spec, log))
    path = Path(log.corrected)
    log.write(log_path(path))
    conflicts = sum(state.conflict is not None for state in states.values())
    return Corrected(path, log_path(path), log, conflicts)


def _write(job: Job, copy: bool) -> ChangeLog:
    if job.name in TABLES:
        return _table(job)
    if job.name == "folder":
        return _tree(job) if copy else _manifest(job)
    if job.name in ("arrays", "npz"):
        return _npz(job) if str(job.options["path"]).endswith(".npz") else _npy(job)
    return _in_memory(job)


def _table(job: Job) -> ChangeLog:
    source = split_path(job.name, str(job.options["path"]), "train")
    suffix = source.suffix.lower()
    unpack = suffix in COMPRESSED and suffix not in COMPRESSORS
    target = _target(job, source.with_suffix("") if unpack else source)
    if job.options.get("image") is not None and target.parent.resolve() != source.parent.resolve():
        raise ValueError(f"{source} has image paths relative to its folder: choose --out in {source.parent}")
    label = str(job.options.get("label", "label"))
    names = job.data.class_names
    expected = {row: names[number] for row, number in _labels(job.data)}
    is_text = separator_of(source) is not None
    write = write_text_table if is_text else write_parquet_table
    dropped_file = dropped_path(target) if job.edit.drop else None
    rows = write(source, target, dropped_file, label, job.edit, names, expected)
    options = {**job.options, "path": target.as_posix()}
    return _log(
        job, source, target, dropped_file, rows, "csv" if is_text else "parquet", job.name, options, label
    )


def _manifest(job: Job) -> ChangeLog:
    """Write a temporary table of the files and correct it like any table."""
    root = split_path("folder", str(job.options["path"]), "train")
    target = _target(job, root.with_name(f"{root.name}.csv"))
    inputs, names = job.data.inputs, job.data.class_names
    assert isinstance(inputs, ImageFiles)  # noqa: S101
    labels = [names[number] for _, number in _labels(job.data)]
    content = manifest_text(inputs.paths, labels, target.parent)
    position_of = {row: position for position, row in enumerate(job.data.index.tolist())}
    edit = Edit(
        {position_of[row]: number for row, number in job.edit.relabel.items()},
        frozenset(position_of[row] for row in job.edit.drop),
    )
    dropped_file = dropped_path(target) if edit.drop else None
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "files.csv")
        plain.write_bytes(content)
        rows = write_text_table(plain, target, dropped_file, LABEL, edit, names, dict(enumerate(labels)))
    number = job.data.index.tolist()
    rows = [(number[row], before, after) for row, before, after in rows]
    rest = {word: job.options[word] for word in ("size", "mode", "on_error") if word in job.options}
    options = {"path": target.as_posix(), "image": FILE, "label": LABEL, **rest}
    return _log(job, root, target, dropped_file, rows, "csv", "csv", options, LABEL)


def _tree(job: Job) -> ChangeLog:
    root = split_path("folder", str(job.options["path"]), "train")
    target = job.out or root.with_name(f"{root.name}{MARK}")
    if target.exists():
        raise FileExistsError(f"{target} exists: remove it, or choose another --out")
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
    dropped_file = dropped_path(target) if job.edit.drop else None
    rows = write_npz(source, target, dropped_file, job.edit, job.data.label.numpy())
    return _log(
        job, source, target, dropped_file, rows, "npz", job.name, {**job.options, "path": target.as_posix()}
    )


def _npy(job: Job) -> ChangeLog:
    """Write the file of labels, and the file of inputs only if rows were dropped."""
    source = split_path("arrays", str(job.options["labels"]), "train")
    target, label = _target(job, source), map_npy(source, "read")
    after = relabelled(label, job.edit, job.data.label.numpy())
    rows = changes_of(label, after, job.edit)
    kept = np.array([row for row in range(len(label)) if row not in job.edit.drop], np.int64)
    write_npy(after[kept], target)
    options = {**job.options, "labels": target.as_posix()}
    if job.edit.drop:
        inputs = split_path("arrays", str(job.options["path"]), "train")
        new_inputs = _target(replace(job, out=None), inputs).with_name(default_target(inputs).name)
        write_npy(map_npy(inputs, "read")[kept], new_inputs)
        options["path"] = new_inputs.as_posix()
    else:
        options["path"] = split_path("arrays", str(job.options["path"]), "train").as_posix()
    return _log(job, source, target, None, rows, "npy", job.name, options)


def _in_memory(job: Job) -> ChangeLog:
    """Write data that have no file as an .npz file."""
    target = job.out or job.run.folder / f"{job.name}{MARK}.npz"
    if target.suffix != ".npz":
        raise ValueError(f"cannot write {target}: the name must end in .npz for the data {job.name}")
    check_target(target, None)
    first = job.data.batch([0]).input
    if is_large(2 * len(job.data) * first.numel() * first.element_size()):
        raise ValueError(f"{job.name} is too large for one .npz file: use labels.apply in Python")
    arrays = _as_arrays(job.data, "train")
    with suppress(NoSplitError):
        arrays |= _as_arrays(load(str(job.run.settings["data"]), split="test"), "test")
    dropped_file = dropped_path(target) if job.edit.drop else None
    rows = write_arrays(arrays, target, dropped_file, job.edit, job.data.label.numpy())
    return _log(job, target, target, dropped_file, rows, "npz", "npz", {"path": target.as_posix()})


def _as_arrays(data: LabelledData, split: str) -> dict[str, Any]:
    whole = data.batch(slice(None))
    return {f"x_{split}": whole.input.numpy(), f"{LABELS[0]}_{split}": whole.label.numpy()}


def _labels(data: LabelledData) -> zip[tuple[int, int]]:
    return zip(data.index.tolist(), data.label.tolist(), strict=True)


def _target(job: Job, source: Path) -> Path:
    target = job.out or default_target(source)
    if "".join(source.suffixes[-1:]).lower() != "".join(target.suffixes[-1:]).lower():
        raise ValueError(
            f"cannot write {target}: the name must have the suffix of the original, {source.name}"
        )
    check_target(target, source)
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
        changes=changes_with_reasons(rows, job.edit.why, now),
    )


def _source_text(name: str, options: Mapping[str, Any]) -> str:
    """The spec of a source with double quotes, so that single quotes can protect it from a shell.

    >>> print(_source_text("csv", {"path": "rows.csv", "size": 8}))
    csv(path="rows.csv", size=8)
    """
    literals = {
        word: json.dumps(value) if isinstance(value, str) else repr(value) for word, value in options.items()
    }
    return f"{name}({', '.join(f'{word}={value}' for word, value in literals.items())})"


def _test_source(run: RunFolder, spec: str, log: ChangeLog) -> str | None:
    """The source of test data, unless it is the test split of the corrected data."""
    given = run.settings.get("test")
    if given is not None:
        return str(given)
    return spec if "{split}" in spec and "{split}" not in log.data else None
