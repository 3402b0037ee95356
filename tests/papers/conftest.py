"""Small tables with short runs."""

import pytest

from noiseproof.papers.cells import Cell, Runs, Table

TINY = {"data": "digits", "model": "mlp(hidden=8)", "batch_size": 512, "epochs": 1}


@pytest.fixture
def tiny():
    """Settings of a short run."""
    return dict(TINY)


@pytest.fixture
def table_of():
    """Make a table of cells given as (row, column, filling) or (row, column, filling, metric)."""

    def make(*cells, name="mine.table1"):
        made = []
        for row, column, filling, *metric in cells:
            filling = Runs({**TINY, **filling}, (0,)) if isinstance(filling, dict) else filling
            made.append(Cell(row, column, *(metric or ["test_accuracy_%"]), 90.0, filling, std=0.5))
        return Table(name, "Mine", tuple(made))

    return make
