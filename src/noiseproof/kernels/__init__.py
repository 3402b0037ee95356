"""How row statistics run fast: one operator, the margin and its companions, serves every loss."""

from .blind import Blind, blind_rows
from .blockwise import blockwise_rows
from .cpu import operator as cpu_operator
from .differentiable import accumulation_dtype, attach, class_margins, present_classes
from .every_class import OwnAndBlind, WithoutBlindCE
from .fused import Call, Recording, fused_loss, record, recorded
from .inplace import inplace
from .margin_rows import Evaluate, margin_rows
from .pair import Pair, pair_rows
from .path import uses_kernels
from .peer_plan import PeerPlan
from .plan import Plan, Planned, planned_loss
from .programs.class_program import record_classes, recorded_classes
from .programs.recorder import Program
from .reference import Statistics, Wanted
from .row_function import Partials, RowFunction, of_margin, weighted_sum
from .statistics_rows import statistics_loss_rows, statistics_rows
from .sum_plan import SumPlan
from .tracing import is_plain_eager, kernels_may_run, values_can_be_checked

__all__ = [
    "Blind",
    "Call",
    "Evaluate",
    "OwnAndBlind",
    "Pair",
    "Partials",
    "PeerPlan",
    "Plan",
    "Planned",
    "Program",
    "Recording",
    "RowFunction",
    "Statistics",
    "SumPlan",
    "Wanted",
    "WithoutBlindCE",
    "accumulation_dtype",
    "attach",
    "blind_rows",
    "blockwise_rows",
    "class_margins",
    "cpu_operator",
    "fused_loss",
    "inplace",
    "is_plain_eager",
    "kernels_may_run",
    "margin_rows",
    "of_margin",
    "pair_rows",
    "planned_loss",
    "present_classes",
    "record",
    "record_classes",
    "recorded",
    "recorded_classes",
    "statistics_loss_rows",
    "statistics_rows",
    "uses_kernels",
    "values_can_be_checked",
    "weighted_sum",
]
