"""``noiseproof labels apply`` and ``revert``: write corrected data, and restore the original."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .flags import Folds
from .paths import require_run
from .screen import print_text

if TYPE_CHECKING:
    from ..dynamics import RunFolder
    from ..labels.corrected import Corrected

NOT_COPIED = ("data", "test", "noise", "noise_seed", "exact_noise", "out", "device")
"""Settings of the run that do not apply to the corrected data or to another machine."""


def apply_labels(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    relabel_above: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Take the suggested class if it is right with at least this probability."
        ),
    ] = None,
    drop_above: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Drop samples whose label is wrong with at least this probability."),
    ] = None,
    folds: Folds = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The new file; by default next to the original, as rows.corrected.csv."
        ),
    ] = None,
    copy: Annotated[
        bool,
        typer.Option("--copy", help="For a folder of images: copy the files instead of writing a table."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Write the training data with labels corrected by the decisions of a review, by rules, or both.

    Rules apply to samples without a decision. The original is never changed.
    """
    from ..dynamics import RunFolder
    from ..labels import write_corrected

    folder = RunFolder(require_run(run))
    done = write_corrected(folder, relabel=relabel_above, drop=drop_above, folds=folds, out=out, copy=copy)
    command = train_command(folder, done)
    if as_json:
        typer.echo(json.dumps(_facts(done, command), indent=2))
    else:
        _print(done, folder, command)


def _print(done: Corrected, run: RunFolder, command: str) -> None:
    dropped = len(done.changes) - done.change_log.relabelled
    print_text(f"{done.path}: {done.change_log.relabelled:,} labels changed, {dropped:,} rows dropped")
    print_text(f"{done.log}: log of the changes; 'noiseproof labels revert' undoes them")
    if done.conflicts:
        print_text(f"{done.conflicts:,} samples have conflicting decisions: the later decision was applied")
    if noise := run.settings.get("noise"):
        print_text(f"All other labels are those the run was trained on, including its noise {noise}.")
    print_text(f"Train on it:\n  {command}")


def revert_labels(
    corrected: Annotated[Path, typer.Argument(help="The file that 'noiseproof labels apply' wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The new file; by default as rows.reverted.csv.")
    ] = None,
) -> None:
    """Restore the original of corrected data from the log and the dropped rows in the same folder."""
    from ..labels import revert

    path, same = revert(corrected, out)
    print_text(f"wrote {path}" + (", byte for byte equal to the original" if same else ""))


def train_command(run: RunFolder, done: Corrected) -> str:
    """The command that trains on the corrected data with the settings of the run."""
    from ..train import Config

    default, words = Config().to_dict(), ["noiseproof", "train", "--data", done.data]
    if done.change_log.test is not None:
        words += ["--test", done.change_log.test]
    for name, value in run.settings.items():
        if name in NOT_COPIED or name not in default or value == default[name] or value is None:
            continue
        flag = name.replace("_", "-")
        words += (
            [f"--{flag}" if value else f"--no-{flag}"]
            if isinstance(value, bool)
            else [f"--{flag}", str(value)]
        )
    return shlex.join(words)


def _facts(done: Corrected, command: str) -> dict[str, Any]:
    return {
        "path": str(done.path),
        "log": str(done.log),
        "relabelled": done.change_log.relabelled,
        "dropped": len(done.changes) - done.change_log.relabelled,
        "conflicts": done.conflicts,
        "data": done.data,
        "test": done.change_log.test,
        "train": command,
    }
