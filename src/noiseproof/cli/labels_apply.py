"""``noiseproof labels apply`` and ``revert``: corrected data in the form of the original, and back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .flags import Folds
from .places import one_run
from .screen import tell

if TYPE_CHECKING:
    from ..dynamics import RunFolder
    from ..labels.corrected import Corrected

OWN = ("data", "test", "noise", "noise_seed", "exact_noise", "out", "device")
"""Settings that the corrected data have of their own, or that belong to one machine."""


def apply_labels(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    relabel_above: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Take the suggested class where it is right with at least this probability."
        ),
    ] = None,
    drop_above: Annotated[
        float | None, typer.Option(min=0, max=1, help="Drop what is wrong with at least this probability.")
    ] = None,
    folds: Folds = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The new file: by default beside the original, as rows.corrected.csv."
        ),
    ] = None,
    copy: Annotated[
        bool, typer.Option("--copy", help="Of a folder of images a tree of copies, not a table of its files.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Write the training data with corrected labels: by the decisions of a review, by rules, or by both.

    Rules apply to samples without a decision. The original is never changed.
    """
    from ..dynamics import RunFolder
    from ..labels import write_corrected

    folder = RunFolder(one_run(run))
    done = write_corrected(folder, relabel=relabel_above, drop=drop_above, folds=folds, out=out, copy=copy)
    command = train_command(folder, done)
    if as_json:
        typer.echo(json.dumps(_facts(done, command), indent=2))
    else:
        _tell(done, folder, command)


def _tell(done: Corrected, run: RunFolder, command: str) -> None:
    dropped = len(done.changes) - done.about.relabelled
    tell(f"{done.path}: {done.about.relabelled:,} labels changed, {dropped:,} rows dropped")
    tell(f"{done.log}: what was changed, why and when; noiseproof labels revert takes it back")
    if done.conflicts:
        tell(f"{done.conflicts:,} samples were decided differently by two people: the later decision holds")
    if noise := run.settings.get("noise"):
        tell(f"Labels that nobody changed are as the run saw them, with its noise {noise}.")
    tell(f"Train on it:\n  {command}")


def revert_labels(
    corrected: Annotated[Path, typer.Argument(help="What labels apply wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The new file: by default as rows.reverted.csv.")
    ] = None,
) -> None:
    """Write corrected data as they were before, from the log and the dropped rows that lie beside them."""
    from ..labels import revert

    path, same = revert(corrected, out)
    tell(f"wrote {path}" + (", byte for byte the original" if same else ""))


def train_command(run: RunFolder, done: Corrected) -> str:
    """The command that trains on the corrected data with the settings of the run."""
    from ..train import Config

    usual, words = Config().to_dict(), ["noiseproof", "train", "--data", done.data]
    if done.about.test is not None:
        words += ["--test", done.about.test]
    for name, value in run.settings.items():
        if name in OWN or name not in usual or value == usual[name] or value is None:
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
        "relabelled": done.about.relabelled,
        "dropped": len(done.changes) - done.about.relabelled,
        "conflicts": done.conflicts,
        "data": done.data,
        "test": done.about.test,
        "train": command,
    }
