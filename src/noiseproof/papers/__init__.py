"""The five papers as data: every table with the runs of its cells, every figure with its data and plots."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cells import Table
    from .comparing import compare
    from .figures import FIGURES, draw
    from .figures.curve_figures import CURVE_FIGURES
    from .figures.run_figures import RUN_FIGURES
    from .running import run
    from .tables import TABLES, get

__all__ = ["CURVE_FIGURES", "FIGURES", "RUN_FIGURES", "TABLES", "Table", "compare", "draw", "get", "run"]

_HOME = {
    "CURVE_FIGURES": "figures.curve_figures",
    "RUN_FIGURES": "figures.run_figures",
    "FIGURES": "figures",
    "draw": "figures",
    "TABLES": "tables",
    "get": "tables",
    "Table": "cells",
    "run": "running",
    "compare": "comparing",
}
"""Name -> module, imported on first use: listing and showing tables needs no torch."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
