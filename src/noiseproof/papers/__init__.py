"""The five papers as data: figures that are drawn from formulas so far, tables to come."""

from .curve_figures import CURVE_FIGURES, draw

__all__ = ["CURVE_FIGURES", "draw"]
