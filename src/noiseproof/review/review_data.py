"""The data of a review: suspects, worst first, with inputs and records."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..data import LabelledData, load
from ..data.inputs import raw_rows
from ..dynamics import Record, RunFolder
from ..labels import find
from ..labels.apply import wrong_probability
from ..labels.decisions import NAME
from ..labels.findings import weakness
from ..labels.original_rows import label_columns, table_of, whole_table
from ..labels.run_data import judged_data
from ..report.inputs import Inputs
from ..report.text import one_line
from ..train import Run

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

Source: TypeAlias = "RunFolder | str | Path | pd.DataFrame"
MAX_CLASS_NAME_LENGTH = 80


class ReviewData:
    """The labels of a run, or a frame of ``labels.find`` with its data.

    Args:
        source: a run, its folder, or the frame of ``labels.find``.
        data: the inputs; by default loaded from the source of the run.
        decisions: the file of decisions, by default decisions.jsonl in the run folder.
        everything: all samples, not only the suspects.
        folds: cross-fit the data of the run with this number of folds instead of reading its record.
    """

    def __init__(
        self,
        source: Source,
        data: LabelledData | str | None = None,
        *,
        decisions: str | Path | None = None,
        everything: bool = False,
        folds: int | None = None,
    ) -> None:
        self.run: RunFolder | None = None
        self.frame: Any = source
        if isinstance(source, (str, Path, RunFolder)):
            self.run = source if isinstance(source, RunFolder) else RunFolder(source)
            self.frame = find(self.run, statistics=False, folds=folds)
        self.decisions = _decisions_file(self.run, decisions)
        self.given_data, self.why_no_inputs = data, ""
        self.class_names: list[str] = [str(name) for name in self.frame.attrs["class_names"]]
        self.shown_names = [one_line(name, MAX_CLASS_NAME_LENGTH) or "(no name)" for name in self.class_names]
        self.numbers = self.frame["index"].to_numpy(np.int64)
        self.given = self.frame["given_label"].to_numpy(np.int64)
        self.suggested = self.frame["predicted_label"].to_numpy(np.int64)
        self.chance = wrong_probability(self.frame).to_numpy(float)
        self.score = self.frame["label_score"].fillna(1.0).to_numpy(float)
        self.is_issue = self.frame["is_label_issue"].to_numpy(bool)
        self.row_of = {number: row for row, number in enumerate(self.numbers.tolist())}
        self.everything = everything

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Rows of the frame to review, the least trusted first."""
        rows = np.arange(len(self.numbers)) if self.everything else np.flatnonzero(self.is_issue)
        found: NDArray[np.int64] = rows[np.lexsort((self.score[rows], -self.chance[rows]))]
        return found

    @cached_property
    def record(self) -> Record | None:
        return None if self.run is None else self.run.record

    @property
    def inputs(self) -> Inputs | None:
        """The inputs, of a run those of training; None if they cannot be loaded, see ``why_no_inputs``."""
        return self._parts[0] if self._parts else None

    def inputs_with(self, number: int) -> Inputs | None:
        """The inputs of training or validation that contain a sample."""
        return next((part for part in self._parts if number in part.row_of), None)

    @cached_property
    def _parts(self) -> list[Inputs]:
        try:
            if self.given_data is not None:
                return [Inputs(load(self.given_data))]
            if self.run is None:
                self.why_no_inputs = "a frame alone has no inputs: pass data=..."
                return []
            return list(map(Inputs, judged_data(self.run)))
        except (OSError, ValueError, TypeError, ImportError) as problem:
            self.why_no_inputs = one_line(f"the inputs cannot be loaded: {problem}", 300)
            return []

    @cached_property
    def spec(self) -> str | None:
        """The source of the data, if known."""
        if isinstance(self.given_data, str):
            return self.given_data
        return None if self.run is None or self.given_data is not None else self.run.settings.get("data")

    @cached_property
    def table(self) -> pd.DataFrame | None:
        """The rows of the user's table without labels, indexed by sample number."""
        try:
            rows = whole_table(self.spec)
        except (OSError, ValueError, ImportError):
            rows = None
        if rows is None:
            return _as_table(self.inputs)
        _, options = table_of(self.spec) or (None, {})
        hidden = [*label_columns(options), options.get("image")]
        return rows.drop(columns=[name for name in hidden if name in rows.columns])

    @cached_property
    def trained(self) -> Run | None:
        """The trained run, or None for a frame."""
        return None if self.run is None else Run(self.run.folder)

    def facts(self) -> dict[str, Any]:
        """Columns with one entry per suspect, and facts about the review, as JSON."""
        rows = self.order
        is_calibrated = "wrong_probability" in self.frame
        return {
            "name": one_line("labels" if self.run is None else self.run.name, 100),
            "classes": self.shown_names,
            "samples": len(self.numbers),
            "number": self.numbers[rows].tolist(),
            "given": self.given[rows].tolist(),
            "suggested": self.suggested[rows].tolist(),
            "chance": np.round(self.chance[rows], 4).tolist(),
            "suggestionChance": self._suggestion_chance(rows),
            "restWrong": float(self.chance.sum() - self.chance[rows].sum()) if is_calibrated else 0.0,
            "calibrated": is_calibrated,
            "weak": weakness(self.frame.attrs) or "",
        }

    def _suggestion_chance(self, rows: NDArray[np.int64]) -> list[float | None] | None:
        """P(true class = suggested class) of these rows; None where it is unknown."""
        if "predicted_probability" not in self.frame:
            return None
        chance = self.frame["predicted_probability"].to_numpy(float)[rows]
        return [None if np.isnan(one) else round(float(one), 4) for one in chance]


def _decisions_file(run: RunFolder | None, given: str | Path | None) -> Path:
    if given is not None:
        return Path(given)
    if run is None:
        raise ValueError("a frame has no run folder: pass the file of decisions, decisions=...")
    return run.folder / NAME


def _as_table(inputs: Inputs | None) -> pd.DataFrame | None:
    """Inputs in memory as a table: the original rows, or the values of vectors."""
    import pandas as pd  # type: ignore[import-untyped]

    if inputs is None or inputs.are_images:
        return None
    data = inputs.data
    rows: Any = raw_rows(data.inputs if data.raw is None else data.raw)
    if isinstance(rows, pd.DataFrame):
        return rows.set_axis(data.index.numpy(), axis=0)
    if isinstance(rows, (list, np.ndarray)):
        return pd.DataFrame({"text": list(rows)}, index=data.index.numpy())
    if len(data.sample_shape) != 1:
        return None
    values = data.batch(slice(None)).input.numpy()
    columns = data.columns or [f"value {number}" for number in range(values.shape[1])]
    return pd.DataFrame(values, columns=list(columns), index=data.index.numpy())
