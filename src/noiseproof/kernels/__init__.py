"""How row statistics run fast: one operator, the margin and its companions, serves every loss."""

from .blockwise import blockwise_rows
from .differentiable import accumulation_dtype, attach, class_margins, present_classes
from .margin_rows import Evaluate, margin_rows
from .reference import Statistics, Wanted
from .statistics_rows import Partials, statistics_loss_rows, statistics_rows
from .tracing import values_can_be_checked

__all__ = [
    "Evaluate",
    "Partials",
    "Statistics",
    "Wanted",
    "accumulation_dtype",
    "attach",
    "blockwise_rows",
    "class_margins",
    "margin_rows",
    "present_classes",
    "statistics_loss_rows",
    "statistics_rows",
    "values_can_be_checked",
]
