"""Checkpoints: two files per step, the second of which says that the first is whole.

``step-000000123.safetensors`` holds tensors; ``step-000000123.json``, the mark, holds the rest, the name of
that file and the checksum of both. The mark is written last: a checkpoint without it does not exist. A step
saved again with other tensors has them in ``step-000000123-again.safetensors``, so that the old mark stays
true until the new one replaces it. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from .. import atomic
from ..data.memory import available_memory
from .mark import DamagedError, check_json, mark_text, read_bytes, read_mark
from .nested import JSON, flatten, unflatten

__all__ = ["Checkpoint", "flatten", "newest", "save", "unflatten"]

KEPT = 2
NAME = re.compile(r"step-(\d{9,})(\.json|(-again)?\.safetensors)")


@dataclass(frozen=True)
class Checkpoint:
    """Where a run was after ``step`` steps: tensors in main memory, and everything else."""

    step: int
    tensors: dict[str, Tensor]
    state: dict[str, JSON]


def save(
    folder: str | os.PathLike[str], *, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, JSON]
) -> None:
    """Write the checkpoint of a step, then remove all but it and the newest one before it.

    When ``save`` returns, ``newest`` finds this checkpoint, whatever happens to the process; until then, and
    after any error, it finds the one before. Checkpoints of later steps are removed too: a run is at a lower
    step than its folder only because it could not read them.

    Example:
        >>> import tempfile, torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(folder, step=7, tensors={"w": torch.ones(2)}, state={"lr": 0.1})
        ...     print(sorted(os.listdir(folder)))
        ...     newest(folder)
        ['step-000000007.json', 'step-000000007.safetensors']
        Checkpoint(step=7, tensors={'w': tensor([1., 1.])}, state={'lr': 0.1})
    """
    if type(step) is not int or step < 0:
        raise ValueError(f"step={step!r} must be a whole number, 0 or more")
    check_json(dict(state))
    data, mark = atomic.tensor_bytes(tensors), _mark(Path(folder), step)
    atomic.make_folder(folder)
    tensor_file = _tensor_file(mark, data)
    try:
        if not _holds(tensor_file, data):
            atomic.write_bytes(tensor_file, data)
        atomic.write_text(mark, mark_text(step, tensor_file.name, data, state))
    except BaseException:
        with suppress(OSError):
            if not (mark.exists() and tensor_file.name.encode() in mark.read_bytes()):
                os.unlink(tensor_file)
        raise
    _remove_others(mark.parent, step)


def newest(folder: str | os.PathLike[str]) -> Checkpoint | None:
    """The newest checkpoint that is whole, or None; damaged ones are named in a warning and passed over."""
    for step in sorted(_steps(Path(folder)), reverse=True):
        try:
            return _read(_mark(Path(folder), step), step)
        except DamagedError as problem:
            warnings.warn(f"{problem}; going back to the checkpoint before it", stacklevel=2)
    return None


def _read(mark: Path, step: int) -> Checkpoint:
    from safetensors.torch import load

    content = read_mark(mark)
    if content.get("step") != step:
        raise DamagedError(f"{mark} is the checkpoint of step {content.get('step')!r} under a wrong name")
    plain, again = _possible(mark)
    tensor_file = again if content.get("tensors") == again.name else plain
    data = read_bytes(tensor_file, available_memory())
    if hashlib.sha256(data).hexdigest() != content.get("sha256"):
        raise DamagedError(f"{tensor_file} is damaged: its checksum is not the one in {mark.name}")
    return Checkpoint(step, load(data), content["state"])  # type: ignore[arg-type]


def _mark(folder: Path, step: int) -> Path:
    return folder / f"step-{step:09d}.json"


def _possible(mark: Path) -> tuple[Path, Path]:
    return mark.with_suffix(".safetensors"), mark.with_name(f"{mark.stem}-again.safetensors")


def _tensor_file(mark: Path, data: bytes) -> Path:
    """Where to write: not over the file of a checkpoint that is there, unless it holds the same."""
    plain, again = _possible(mark)
    try:
        used = read_mark(mark).get("tensors")
    except DamagedError:
        return plain
    taken, free = (again, plain) if used == again.name else (plain, again)
    return taken if _holds(taken, data) else free


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _steps(folder: Path) -> list[int]:
    names = os.listdir(folder) if folder.is_dir() else []
    return [int(found[1]) for name in names if (found := NAME.fullmatch(name)) and found[2] == ".json"]


def _remove_others(folder: Path, step: int) -> None:
    """All files of checkpoints but the newest ``KEPT`` whose mark is whole, the marks first."""
    wanted: list[str] = []
    for earlier in sorted((other for other in _steps(folder) if other <= step), reverse=True):
        with suppress(DamagedError):
            names = [_mark(folder, earlier).name, str(read_mark(_mark(folder, earlier)).get("tensors"))]
            wanted += names if len(wanted) < 2 * KEPT else []
    found = [name for name in os.listdir(folder) if NAME.fullmatch(name) and name not in wanted]
    for name in sorted(found, key=lambda name: not name.endswith(".json")):
        os.unlink(folder / name)
