"""Figures of a run, and one HTML file that holds them all."""

from ..dynamics.record import example_record
from .comparison import write_comparison
from .evidence import NothingToShow
from .figures import *  # noqa: F403
from .figures import __all__ as _figures
from .page import write

__all__ = ["NothingToShow", "example_record", "write", "write_comparison", *_figures]
