"""How row statistics run fast: one operator, the margin and its companions, serves every loss."""

from .differentiable import accumulation_dtype, attach, class_margins
from .function import Evaluate, margin_rows, statistics_rows
from .reference import Statistics, Wanted
from .tracing import values_can_be_checked

__all__ = [
    "Evaluate",
    "Statistics",
    "Wanted",
    "accumulation_dtype",
    "attach",
    "class_margins",
    "margin_rows",
    "statistics_rows",
    "values_can_be_checked",
]
