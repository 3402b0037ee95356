"""Cells of tables whose runs a figure shows, where these lie, and what trains them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..dynamics.run_folder import RESULT
from .filling import Runs
from .manifest import HOME, Manifest
from .plan import OWN
from .tables import get


class Selection(NamedTuple):
    """Cells of a table whose runs are drawn."""

    table: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def command(self, out: Path = HOME) -> str:
        """What trains them in a folder, one seed each."""
        rows = [f" --rows '{row}'" for row in self.rows]
        columns = [f" --columns '{column}'" for column in self.columns]
        place = "" if out == HOME else f" --out {shlex.quote(str(out))}"
        return f"noiseproof papers run {self.table}{''.join(rows + columns)} --seeds 1{place}"

    def runs(self, out: Path) -> list[Path | None]:
        """The finished run of each cell with the lowest seed, or None; one that cells share, once.

        Cells that no run can fill are left out.
        """
        manifest = Manifest(out)
        found: dict[Path | None, None] = {}
        for cell in get(self.table).select(self.rows, self.columns).cells:
            if not isinstance(cell.filling, Runs):
                continue
            mine = [run for role, run in manifest.of_cell(self.table, cell.row, cell.column) if role == OWN]
            mine.sort(key=lambda run: int(run["config"]["seed"]))
            done = [out / run["folder"] for run in mine if (out / run["folder"] / RESULT).is_file()]
            found[done[0] if done else None] = None
        return list(found)


def check_found(of: Sequence[Selection], out: Path) -> list[Path]:
    """The runs of all selections; an error that says how to train those that are not there."""
    found = [(selection, selection.runs(out)) for selection in of]
    if missing := dict.fromkeys(selection.command(out) for selection, runs in found if None in runs):
        raise ValueError(f"runs of this figure are not in {out}; to train them: {'; '.join(missing)}")
    return [run for _, runs in found for run in runs if run is not None]
