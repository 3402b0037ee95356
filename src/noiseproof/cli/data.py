"""``noiseproof data``: list, download and verify datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .flags import Quiet
from .screen import cell, console, print_text

if TYPE_CHECKING:
    from ..data.download.fetch import Report

app = typer.Typer(
    name="data",
    help="List, download and verify datasets.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Argument(help="A dataset such as cifar10; 'noiseproof data ls' lists them.")]
Root = Annotated[
    Path | None, typer.Option(help="Folder of the datasets; by default $NOISEPROOF_DATA or the cache folder.")
]


@app.command("ls")
def list_datasets(
    root: Root = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """List the datasets with size, licence and state (present, incomplete, absent)."""
    from ..data.download.fetch import DATASETS

    rows = [_row(name, _folder(root)) for name in DATASETS]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    table = Table(title=f"Datasets in {cell(_folder(root))}", title_justify="left")
    for heading in ("name", "download", "state", "licence"):
        table.add_column(heading, justify="right" if heading == "download" else "left")
    for row in rows:
        table.add_row(str(row["name"]), _size(row["bytes"]), str(row["state"]), cell(row["licence"]))
    console().print(table)


@app.command()
def get(
    name: Name,
    root: Root = None,
    quiet: Quiet = False,
) -> None:
    """Download a dataset from its official host into the data folder and verify its checksums."""
    from ..data.download.fetch import DATASETS, fetch

    report = fetch(name, _folder(root), progress=not quiet)
    if not DATASETS[name].downloads:
        print_text(f"{name} needs no download: {DATASETS[name].licence}")
        return
    print_text(f"{name} is complete in {report.folder} ({DATASETS[name].licence})")


@app.command("verify")
def verify_dataset(
    name: Name,
    root: Root = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Compare the checksum of every file of a dataset; exit code 1 if one is missing or wrong."""
    from ..data.download.fetch import verify

    report = verify(name, _folder(root))
    if as_json:
        found = {state: list(getattr(report, state)) for state in ("present", "missing", "wrong")}
        typer.echo(json.dumps({"name": name, "folder": str(report.folder), **found}, indent=2))
    else:
        _print_report(report)
    if not report.is_complete:
        raise typer.Exit(1)


def _folder(root: Path | None) -> Path:
    from ..data.locations import data_root

    return data_root() if root is None else root.expanduser()


def _row(name: str, root: Path) -> dict[str, object]:
    """One row of the list; the state depends only on which files exist, ``verify`` reads them."""
    from ..data.download.fetch import DATASETS

    dataset = DATASETS[name]
    files = {content.partition("#")[0] for content in dataset.contents}
    there = sum((root / name / file).is_file() for file in files)
    state = "present" if there == len(files) else "incomplete" if there else "absent"
    if not files:
        state = "built in"
    return {"name": name, "bytes": dataset.size, "state": state, "licence": dataset.licence}


def _size(count: object) -> str:
    if not isinstance(count, int):
        return "a few MB"
    return f"{count / 1e6:.1f} MB" if count else "none"


def _print_report(report: Report) -> None:
    for state in ("present", "missing", "wrong"):
        for content in getattr(report, state):
            print_text(f"{state:8} {content}")
    if report.is_complete:
        print_text(f"{report.name} is complete in {report.folder}")
    else:
        print_text(f"{report.name} is not complete in {report.folder}: noiseproof data get {report.name}")
