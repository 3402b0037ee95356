"""``noiseproof predict``: write the predictions of a run for new data."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .names import choices
from .paths import check_overwrite, require_run
from .quoting import check_quotes
from .screen import print_text

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

    from ..data import LabelledData
    from ..train import Run

FORMATS = (".csv", ".parquet")
DATA_HELP = f"Data, such as 'csv(path=\"new.csv\")': {choices('data')}."


def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File to write: .csv or .parquet; by default predictions.csv in RUN."
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="train or test; by default test, or all rows without a test split.")
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Use the epoch selected by validation instead of the last one.")
    ] = False,
) -> None:
    """Write index, predicted label and the probability of every class, one row per sample.

    Tables need the columns of the training data, in any order; labels are not needed.
    """
    out = require_run(run) / "predictions.csv" if out is None else out
    if out.suffix not in FORMATS:
        raise ValueError(f"cannot write {out}: use one of {', '.join(FORMATS)}")
    check_overwrite(out, "predicted_label")
    from .. import atomic
    from ..data.inputs import RawInputs
    from ..data.registry import source_of_path
    from ..grammar import listed
    from ..train import Run

    check_quotes(data)
    if (source := source_of_path(data)) is not None:
        raise ValueError(f"{data!r} is a path, not a source: write {source}")
    trained = Run(require_run(run))
    if out.suffix == ".parquet":
        _check_parquet(out)
    samples = samples_of(trained, data, split)
    if ignored := ignored_columns(trained, samples):
        names = listed(list(map(repr, ignored)))
        print_text(f"ignored columns, which the training data did not have: {names}")
    if trained.features is not None and isinstance(samples.inputs, RawInputs):
        trained.features.warn_of_unreadable(samples.inputs.values)
    table = predictions(trained, samples, "best" if best else "final")
    with atomic.explained(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    _write(table, out)
    print_text(f"wrote {len(table):,} predictions to {out}")


def samples_of(run: Run, data: str, split: str | None) -> LabelledData:
    """The given split; by default the test split, or all rows of a source without splits."""
    from ..data.locations import NoSplitError

    try:
        return run.samples(data, split=split or "test")
    except NoSplitError:
        if split is not None:
            raise
        return run.samples(data, split="train")


def ignored_columns(run: Run, samples: LabelledData) -> list[str]:
    """Columns of a table that the run was not trained on, except the columns of labels."""
    from ..data.registry import parse_source
    from ..terminal import printable

    if run.features is None or not samples.is_raw:
        return []
    options = parse_source(run.config.data)[1]
    known = {*run.features.inputs, options.get("label", "label"), options.get("clean_label")}
    return [printable(name) for name in samples.columns if name not in known]


def predictions(run: Run, samples: LabelledData, which: str) -> pd.DataFrame:
    """Columns ``index``, ``file`` for images, ``predicted_label`` and ``probability_NAME`` for each class."""
    import pandas as pd

    from ..data.images import ImageFiles
    from ..terminal import file_text, printable

    probability = run.predict(samples, which=which)
    names = [printable(name) for name in run.class_names]
    table = pd.DataFrame(probability.numpy(), columns=[f"probability_{name}" for name in names])
    table.insert(0, "predicted_label", [names[number] for number in probability.argmax(1).tolist()])
    if isinstance(samples.inputs, ImageFiles):
        table.insert(0, "file", [file_text(path) for path in samples.inputs.paths])
    table.insert(0, "index", samples.index.cpu().numpy())
    return table


def _write(table: pd.DataFrame, out: Path) -> None:
    from .. import atomic
    from ..labels.export import neutral

    if out.suffix == ".parquet":
        file = io.BytesIO()
        table.to_parquet(file, index=False)
        atomic.write_bytes(out, file.getvalue())
        return
    text = [name for name in ("file", "predicted_label") if name in table]
    safe = table.assign(**{name: table[name].map(neutral) for name in text})
    safe.columns = [neutral(str(name)) for name in safe.columns]
    atomic.write_text(out, safe.to_csv(index=False, lineterminator="\n"))


def _check_parquet(out: Path) -> None:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise ValueError(
            f"cannot write {out}: Parquet needs pyarrow (pip install 'noiseproof[parquet]'), or use .csv"
        )
