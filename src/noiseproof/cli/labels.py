"""``noiseproof labels find``: list the labels that are suspected to be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .flags import Engine, Folds
from .labels_apply import apply_labels, revert_labels
from .labels_review import review_labels
from .paths import check_overwrite, require_run
from .screen import cell, console, print_text

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]
    from rich.console import Console

app = typer.Typer(
    name="labels",
    help="Find, review and correct wrong labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
MAX_CLASSES = 8
"""Rows of the table of classes, in descending order of suspects."""


@app.callback()
def _verbs() -> None:
    """Find, review and correct wrong labels."""


@app.command("find")
def find_labels(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run; or give --data.")] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Cross-fit these data instead of reading a run: a spec as for 'noiseproof train --data'."
        ),
    ] = None,
    folds: Folds = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model for cross-fitting: linear, trees, network, neighbours or kernel instead of all five,"
            " or a network for images such as cnn8."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the suspects to this .csv or .parquet file: given_label and predicted_label are"
            " class numbers, given_name and predicted_name class names."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Write all samples to the file, not only suspects.")
    ] = False,
    probabilities: Annotated[
        Path | None,
        typer.Option(help="Also use out-of-sample probabilities: a .csv as written by predict, or .npy."),
    ] = None,
    engine: Engine = "local",
    top: Annotated[int, typer.Option(min=0, help="Number of suspects to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """List the samples whose label is suspected to be wrong, worst first, and estimate the noise rate."""
    from ..dynamics import RunFolder
    from ..labels import write
    from ..labels.export import check_path, with_names
    from ..terminal import printable

    if everything and out is None:
        raise ValueError("--all needs a file: give one with --out")
    if (run is None) == (data is None):
        raise ValueError("give the folder of a run, or --data SPEC (see noiseproof labels find --help)")
    if out is not None:
        check_path(out)
        check_overwrite(out, "is_label_issue")
    if run is None or folds is not None:
        found = _cross_fitted(run, data, folds, model, probabilities, engine)
    elif engine != "local":
        raise ValueError(f"--engine {engine} needs cross-fitting: give --folds, or --data instead of a run")
    else:
        found = _of_run(require_run(run), probabilities)
    worst = with_names(found[found.is_label_issue].nsmallest(top, "label_score"), printable)
    source = data if run is None else RunFolder(require_run(run)).settings.get("data")
    count = 0 if out is None else write(found, out, everything=everything, data=source)
    if as_json:
        typer.echo(json.dumps(_facts(found, worst), indent=2))
    else:
        _show(found, worst, str(run or data))
    if out is not None:
        print_text(f"{count:,} samples written to {out}", err=as_json)


def _of_run(run: Path, probabilities: Path | None) -> DataFrame:
    from ..dynamics import RunFolder
    from ..labels import find, read_probabilities

    folder, predicted = RunFolder(run), None
    if probabilities is not None:
        record = folder.record
        predicted = read_probabilities(probabilities, record.index.numpy(), record.class_names)
    return with_files(find(folder, probabilities=predicted), run)


def _cross_fitted(
    run: Path | None,
    spec: str | None,
    folds: int | None,
    model: str | None,
    probabilities: Path | None,
    engine: str,
) -> DataFrame:
    from rich.console import Console

    from ..data import load
    from ..dynamics import RunFolder
    from ..engines import check_engine
    from ..labels import find
    from ..labels.find import FOLDS

    check_engine(engine)
    if probabilities is not None:
        raise ValueError("--probabilities cannot be combined with --data or --folds: leave them out")
    samples = load(str(spec)) if run is None else RunFolder(require_run(run))
    with Console(stderr=True, emoji=False).status("reading") as status:

        def show(name: str, fold: int) -> None:
            status.update(f"fitting: {name}, fold {fold + 1} of {folds or FOLDS}")

        found = find(samples, folds=folds, model=model, on_fit=show, engine=engine)
    return found if run is None else with_files(found, run)


def with_files(found: DataFrame, run: Path) -> DataFrame:
    """Add a column ``file`` after the index, if the run was trained on image files that still exist."""
    from ..data import load
    from ..data.images import ImageFiles
    from ..dynamics import RunFolder
    from ..labels.export import neutral
    from ..terminal import file_text

    source = RunFolder(run).settings.get("data")
    if not isinstance(source, str) or not (source.startswith("folder") or "image=" in source):
        return found
    try:
        data = load(source)
    except (OSError, ValueError):
        return found
    if not isinstance(data.inputs, ImageFiles):
        return found
    names = (neutral(file_text(path)) for path in data.inputs.paths)
    files = dict(zip(data.index.tolist(), names, strict=True))
    named = found.copy()
    named.insert(1, "file", named["index"].map(files).fillna(""))
    return named


def _facts(found: DataFrame, worst: DataFrame) -> dict[str, Any]:
    columns = [
        "index",
        "label_score",
        "wrong_probability",
        "given_label",
        "given_name",
        "predicted_label",
        "predicted_name",
    ]
    columns += ["file"] if "file" in found else []
    return {
        "samples": len(found),
        "suspects": int(found.is_label_issue.sum()),
        **found.attrs,
        "worst": worst[columns].to_dict(orient="records"),
    }


def _show(found: DataFrame, worst: DataFrame, what: str) -> None:
    from rich.table import Table

    from ..labels.findings import weakness

    suspects, about = int(found.is_label_issue.sum()), found.attrs
    screen = console()
    screen.print(
        f"[bold]{suspects:,} of {len(found):,} labels of {cell(what)} are suspected[/bold], about"
        f" {about['expected_wrong']:.0f} of them truly wrong; {100 * about['noise_rate']:.1f}% of all labels"
        " are expected to be wrong",
    )
    if (words := weakness(about)) is not None:
        screen.print(f"[bold]Weak evidence.[/bold] {cell(words)}")
    if not suspects:
        return
    if len(worst):
        screen.print(f"\n[italic]The {len(worst):,} least trusted[/italic]")
        table = Table()
        files = ["file"] if "file" in worst else []
        for heading in ("sample", "given label", "predicted", "wrong", *files):
            number = heading in ("sample", "wrong")
            table.add_column(heading, justify="right" if number else "left", overflow="fold")
        for row in worst.itertuples():
            names = _class(row.given_name), _class(row.predicted_name)
            paths = [cell(row.file)] if files else []
            table.add_row(str(row.index), *names, f"{100 * row.wrong_probability:.0f}%", *paths)
        screen.print(table)
    _show_classes(found, screen)


def _show_classes(found: DataFrame, screen: Console) -> None:
    from rich.table import Table

    rates = found.attrs["class_noise_rate"]
    counts = found.given_label[found.is_label_issue].value_counts(sort=False)
    order = sorted(range(len(rates)), key=lambda k: (-counts.get(k, 0), k))[:MAX_CLASSES]
    shown = "" if len(order) == len(rates) else f" ({len(order)} of {len(rates)} classes)"
    screen.print(f"\n[italic]Suspects by given label{shown}[/italic]")
    table = Table()
    for heading in ("given label", "suspects", "expected wrong"):
        table.add_column(heading, justify="left" if heading == "given label" else "right")
    for number in order:
        name = _class(found.attrs["class_names"][number])
        table.add_row(name, f"{counts.get(number, 0):,}", f"{100 * rates[number]:.1f}%")
    screen.print(table)


def _class(name: str) -> str:
    """The cell of a class name, in quotes if spaces at its ends would not be seen."""
    return cell(name if name == name.strip() else repr(name))


app.command("review")(review_labels)
app.command("apply")(apply_labels)
app.command("revert")(revert_labels)
