"""Figures of a run, and one self-contained HTML report."""

from .comparison import write_comparison
from .evidence import NotAvailableError
from .figures import *  # noqa: F403
from .figures import __all__ as _figures
from .page import write

__all__ = ["NotAvailableError", "write", "write_comparison", *_figures]
