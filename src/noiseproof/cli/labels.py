"""``noiseproof labels find``: the labels of a run that are suspected to be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .labels_apply import apply_labels, revert_labels
from .labels_review import review_labels
from .places import check_not_foreign, one_run
from .screen import cell, console, tell

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]
    from rich.console import Console

app = typer.Typer(
    name="labels",
    help="Find wrong labels, look at them, correct them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
MOST_CLASSES = 8
"""Lines of the table of classes; those with most suspects come first."""


@app.callback()
def _verbs() -> None:
    """Find wrong labels, look at them, correct them."""


@app.command("find")
def find_labels(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the suspects to this .csv or .parquet file: given_label and predicted_label are"
            " numbers of classes, given_name and predicted_name what your data call them."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every sample into the file.")] = False,
    probabilities: Annotated[
        Path | None,
        typer.Option(help="Listen also to out-of-sample probabilities: .csv as predict writes it, or .npy."),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="How many of the worst to show.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Name the samples whose label is suspected to be wrong, worst first, and estimate how many there are."""
    from ..dynamics import RunFolder
    from ..labels import find, write
    from ..labels.export import check_path, with_names
    from ..terminal import printable
    from .label_files import with_files

    if everything and out is None:
        raise ValueError("--all needs a file: name it with --out")
    if out is not None:
        check_path(out)
        check_not_foreign(out, "is_label_issue")
    run = one_run(run)
    found = with_files(find(run) if probabilities is None else _find_with(run, probabilities), run)
    worst = with_names(found[found.is_label_issue].nsmallest(top, "label_score"), printable)
    source = RunFolder(run).settings.get("data")
    count = 0 if out is None else write(found, out, everything=everything, data=source)
    if as_json:
        typer.echo(json.dumps(_facts(found, worst), indent=2))
    else:
        _show(found, worst, run)
    if out is not None:
        tell(f"{count:,} samples written to {out}", err=as_json)


def _find_with(run: Path, probabilities: Path) -> DataFrame:
    from ..dynamics import RunFolder
    from ..labels import find, read_probabilities

    record = RunFolder(run).record
    return find(
        record, probabilities=read_probabilities(probabilities, record.index.numpy(), record.class_names)
    )


def _facts(found: DataFrame, worst: DataFrame) -> dict[str, Any]:
    columns = ["index", "label_score", "given_label", "given_name", "predicted_label", "predicted_name"]
    columns += ["file"] if "file" in found else []
    return {
        "samples": len(found),
        "suspects": int(found.is_label_issue.sum()),
        **found.attrs,
        "worst": worst[columns].to_dict(orient="records"),
    }


def _show(found: DataFrame, worst: DataFrame, run: Path) -> None:
    from rich.table import Table

    from ..dynamics import RunFolder
    from ..labels.weakness import weakness

    suspects, about = int(found.is_label_issue.sum()), found.attrs
    screen = console()
    expected = about.get("expected_wrong")
    really = "" if expected is None else f", about {round(expected):,} of them really wrong"
    screen.print(
        f"[bold]{suspects:,} of {len(found):,} labels of {cell(run)} are suspected"
        f" ({100 * about['noise_rate']:.1f}%){really}[/bold], judged by {_epochs(about)}",
    )
    settings = RunFolder(run).settings
    if (words := weakness(about, settings.get("method") or settings.get("loss"))) is not None:
        screen.print(f"[bold]Weak evidence.[/bold] {cell(words)}")
    if not suspects:
        return
    if len(worst):
        screen.print(f"\n[italic]The {len(worst):,} least trusted[/italic]")
        table = Table()
        files = ["file"] if "file" in worst else []
        for heading in ("sample", "given label", "rather", "score", *files):
            number = heading in ("sample", "score")
            table.add_column(heading, justify="right" if number else "left", overflow="fold")
        for row in worst.itertuples():
            names = cell(row.given_name), cell(row.predicted_name)
            places = [cell(row.file)] if files else []
            table.add_row(str(row.index), *names, f"{row.label_score:.3f}", *places)
        screen.print(table)
    _show_classes(found, screen)


def _epochs(about: dict[str, Any]) -> str:
    begin, end = about["window_begin"], about["window"]
    return f"the epochs {begin + 1} to {end}" if begin else f"the first {end} epochs"


def _show_classes(found: DataFrame, screen: Console) -> None:
    from rich.table import Table

    rates = found.attrs["class_noise_rate"]
    counts = found.given_label[found.is_label_issue].value_counts(sort=False)
    order = sorted(range(len(rates)), key=lambda k: (-counts.get(k, 0), k))[:MOST_CLASSES]
    shown = "" if len(order) == len(rates) else f" ({len(order)} of {len(rates)} classes)"
    screen.print(f"\n[italic]Suspects by given label{shown}[/italic]")
    table = Table()
    for heading in ("given label", "suspects", "share"):
        table.add_column(heading, justify="left" if heading == "given label" else "right")
    for number in order:
        name = cell(found.attrs["class_names"][number])
        table.add_row(name, f"{counts.get(number, 0):,}", f"{100 * rates[number]:.1f}%")
    screen.print(table)


app.command("review")(review_labels)
app.command("apply")(apply_labels)
app.command("revert")(revert_labels)
