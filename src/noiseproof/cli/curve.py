"""``noiseproof curve``: draw emphasis curves and warn of underfitting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..atomic import explained
from .names import choices

if TYPE_CHECKING:
    from ..losses import Curve

FORMATS = (".svg", ".png", ".pdf")
LOSS_HELP = f"Losses, such as 'gce(q=0.7)' or 'scale(mae, tau=2.6)': {choices('loss')}."


def curve(
    specs: Annotated[
        list[str] | None,
        typer.Argument(help=LOSS_HELP),
    ] = None,
    classes: Annotated[
        int, typer.Option("--classes", "-k", min=2, help="Number of classes of the task.")
    ] = 10,
    x: Annotated[str, typer.Option(help="Horizontal axis: p or margin.")] = "margin",
    unit: Annotated[bool, typer.Option("--unit", help="Draw every curve with maximum 1.")] = False,
    figure: Annotated[
        str | None, typer.Option(help="Draw a figure of the papers, such as gr.figure1a; 'list' lists them.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", "-o", help="Picture to write: .svg, .png or .pdf.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Draw the emphasis of losses over the margins a network starts with, and warn of underfitting."""
    if x not in ("p", "margin"):
        raise ValueError(f"--x {x} is unknown: use p or margin")
    if output is not None and output.suffix not in FORMATS:
        raise ValueError(f"cannot write {output}: use one of {', '.join(FORMATS)}")
    if figure is not None:
        _paper_figure(figure, output)
        return
    if not specs:
        raise ValueError("give at least one loss, such as: noiseproof curve ce mae 'gce(q=0.7)'")
    from ..losses import curve as curve_of

    curves = [curve_of(spec, classes) for spec in specs]
    rows = [_row(found, classes) for found in curves]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        _print_table(rows, classes)
    if output is not None:
        _draw(curves, classes, x, unit, output)


def _row(found: Curve, classes: int) -> dict[str, object]:
    from ..losses.curves.curve import advise

    return {
        "loss": str(found.loss),
        "focus": found.focus if found.focus == found.focus else None,
        "spread": found.spread,
        "peak": found.peak,
        "initial_share": found.initial_share(classes),
        "asymmetry": found.asymmetry,
        "advice": advise(found, classes),
    }


def _print_table(rows: list[dict[str, object]], classes: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"Emphasis curves, {classes} classes", title_justify="left")
    table.add_column("loss", overflow="fold")
    for heading in ("focus p", "spread", "peak", "initial share", "asymmetry"):
        table.add_column(heading, justify="right")
    for row in rows:
        focus = "all" if row["focus"] is None else f"{row['focus']:.3f}"
        table.add_row(
            escape(str(row["loss"])),
            focus,
            f"{row['spread']:.4g}",
            f"{row['peak']:.4g}",
            f"{100 * float(str(row['initial_share'])):.1f}%",
            f"{row['asymmetry']:.3g}",
        )
    console = Console(emoji=False)
    console.print(table)
    for row in rows:
        for words in row["advice"]:  # type: ignore[attr-defined]
            console.print(f"[yellow]![/yellow] {escape(str(row['loss']))}: {escape(words)}", highlight=False)


def _draw(curves: list[Curve], classes: int, x: str, unit: bool, output: Path) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from ..losses.curves.drawing import plot_curves, plot_initial_margins

    ax = plot_curves(curves, x=x, unit=unit)
    plot_initial_margins(classes, ax=ax, x=x)
    _save(ax.figure, output)


def _paper_figure(name: str, output: Path | None) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from ..papers import CURVE_FIGURES, draw

    if name == "list":
        for known, wanted in CURVE_FIGURES.items():
            typer.echo(f"{known:20} {wanted.title}")
        return
    _save(draw(name), output or Path(f"{name}.png"))


def _save(figure: object, output: Path) -> None:
    with explained(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(output, dpi=150)  # type: ignore[attr-defined]
    typer.echo(f"wrote {output}", err=True)
