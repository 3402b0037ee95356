"""Fast implementations of row statistics (the margin and related sums), which all losses use."""

from .apply import explain, into_gradient, reduced, row_statistics, rows
from .checks import check_logits_finite, check_margins, located
from .every_class import by_blocks, class_gradient, class_values, minus_prior_loss, normalised
from .expressions import accumulation_dtype, attach, class_margins, class_rows, present_classes
from .inplace import inplace, without_inplace
from .row_function import (
    MARGIN,
    Mass,
    Partials,
    RowFunction,
    Statistics,
    Wanted,
    batch_mean,
    of_margin,
    weighted_sum,
)
from .tracing import in_transform, is_plain_eager, values_can_be_checked

__all__ = [
    "MARGIN",
    "Mass",
    "Partials",
    "RowFunction",
    "Statistics",
    "Wanted",
    "accumulation_dtype",
    "attach",
    "batch_mean",
    "by_blocks",
    "check_logits_finite",
    "check_margins",
    "class_gradient",
    "class_margins",
    "class_rows",
    "class_values",
    "explain",
    "in_transform",
    "inplace",
    "into_gradient",
    "is_plain_eager",
    "located",
    "minus_prior_loss",
    "normalised",
    "of_margin",
    "present_classes",
    "reduced",
    "row_statistics",
    "rows",
    "values_can_be_checked",
    "weighted_sum",
    "without_inplace",
]
