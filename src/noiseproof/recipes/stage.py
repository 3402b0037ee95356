"""A stage of a recipe: one of its runs."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ..atomic import refuse_link, write_bytes
from ..devices.distributed import require_one_process
from ..dynamics.run_folder import CONFIG, RESULT
from ..train import Config, Run, RunExistsError, Watcher, fit
from ..train.config import run_folder
from ..train.resume import check_finished
from ..train.task import make_task, with_source_and_folder


def stage(config: Config, name: str, *, watcher: Watcher | None = None, **given: Any) -> Run:
    """The finished run of a stage; it is trained or resumed if necessary.

    Args:
        given: ``data``, ``test`` or ``model``, as for ``train.fit``.
    """
    require_one_process("a recipe or a choice of the loss")
    settled = with_source_and_folder(config.replace(out=str(recipe_folder(config) / name)), given.get("data"))
    folder = run_folder(settled)
    refuse_link(folder)
    if (folder / RESULT).is_file() and (folder / CONFIG).is_file():
        run = Run(folder)
        if found := run.config.differences(settled):
            raise RunExistsError(
                f"{folder} is a run of another config ({'; '.join(found)}): choose another --out"
            )
        check_finished(folder, settled, make_task(settled, given.get("data"), given.get("test")))
        return run
    return fit(settled, watcher=watcher, **given)


def recipe_folder(config: Config) -> Path:
    """The folder of the stages of a recipe."""
    return run_folder(config)


def quoted(path: Path) -> str:
    """A path as a string literal for a spec.

    Example:
        >>> print(quoted(Path('my "new" runs/labels.npy')))
        "my \\"new\\" runs/labels.npy"
    """
    return json.dumps(path.as_posix(), ensure_ascii=False)


def save_array(path: Path, values: Tensor) -> None:
    """Write a .npy file atomically."""
    buffer = io.BytesIO()
    np.save(buffer, values.cpu().numpy(), allow_pickle=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, buffer.getvalue())


def accuracies_of(run: Run) -> Mapping[str, float | None]:
    """Final and best test accuracy of a run."""
    result = run.result or {}
    return {name: result.get(f"{name}_test_accuracy") for name in ("final", "best")}
