# mypy: ignore-errors
"""Triton: what ``series_kernel`` makes of the sums of a row."""

import triton
import triton.language as tl

from .blind_rows import LOG_SURE, finish
from .classes import terms_of_classes
from .distance import above, apart, between, measured
from .program import exp, fast_exp, logsigmoid
from .rows import LOWEST, block_of

SMALLEST_MASS = tl.constexpr(1e-30)
LARGEST_MASS = tl.constexpr(0.125)
"""Of a lane without its likeliest class: here terms beyond the second power are smaller than those of it."""
MISSING = tl.constexpr(1e-6)
"""How much of the sum over all classes may be left out."""
LARGEST_SHARE = tl.constexpr(0.25)
"""Of a class whose gradient may be that of a series."""


@triton.jit
def levels_of(sums, own, kept, NARROW: tl.constexpr):
    """Margin, measured peak, mass, log p of label and peak, and whether the label is the likeliest."""
    peak = tl.max(sums[0], 1)
    mass = tl.sum(sums[1] * tl.exp2(between(sums[0], peak[:, None], NARROW)), 1)
    margin = tl.where(kept, above(own, peak, NARROW) - tl.log(mass), 0.0)
    leads = measured(own, NARROW) >= peak
    return margin, peak, mass, logsigmoid(margin), logsigmoid(-margin) - tl.log(mass), leads


@triton.jit
def of_lanes(
    sums,
    counts,
    levels,
    classes,
    reach,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
    NARROW: tl.constexpr,
):
    """Sums of values, ratios and p without label and sure class; and whether they are not good enough."""
    peak, mass, depths, products = sums
    log_p = apart(peak, levels[1][:, None], NARROW) + levels[4][:, None]
    p = fast_exp(log_p)
    is_sure = (peak == levels[1][:, None]) & (levels[4] > LOG_SURE)[:, None]
    value, ratio = terms_of_classes(
        tl.where(is_sure, -1.0, log_p), tl.where(is_sure, 0.5, p), CODE, RESULTS, False
    )
    value, ratio = tl.where(is_sure, 0.0, value), tl.where(is_sure, 0.0, ratio)
    rest = tl.maximum(p * (mass - 1.0), 0.0)
    logs = depths + (counts - 1.0) * log_p
    rest_logs = p * (products + log_p * (mass - 1.0))
    value += series_sum(counts - 1.0, rest, logs, rest_logs, VALUE)
    ratio += series_sum(counts - 1.0, rest, logs, rest_logs, RATIO)
    missing = tl.sum(rest * rest * (1.0 - tl.log(tl.maximum(rest, SMALLEST_MASS))), 1)
    fits = (reach * missing < MISSING * classes) & (tl.max(rest, 1) < LARGEST_MASS)
    fits = fits & (tl.abs(tl.sum(value + ratio, 1)) < float("inf"))
    others = tl.sum(rest + tl.where(is_sure, 0.0, p), 1)
    return (tl.sum(value, 1), tl.sum(ratio, 1), others), ~fits


@triton.jit
def series_sum(count, p, log_p, p_log_p, SERIES: tl.constexpr):
    """Sum over classes from their number and the sums of p, log p and p log p."""
    return SERIES[0] * count + SERIES[1] * p + (SERIES[3] * log_p + SERIES[4] * p_log_p)


@triton.jit
def of_row(
    lanes,
    levels,
    low,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
    NARROW: tl.constexpr,
):
    """The rows of ``found``: the label goes through the program, what stood for it is taken out."""
    margin, peak, _, log_own, log_peak, label_leads = levels
    log_top = tl.where(label_leads, log_own, log_peak)
    is_sure = log_top > LOG_SURE
    sure_label = is_sure & label_leads
    p = exp(log_own)
    value, ratio = terms_of_classes(
        tl.where(sure_label, -1.0, log_own), tl.where(sure_label, 0.5, p), CODE, RESULTS, False
    )
    stood = above(low, peak, NARROW) + log_peak
    values = lanes[0] - (VALUE[0] + VALUE[3] * stood) + tl.where(sure_label, 0.0, value)
    ratios = lanes[1] - (RATIO[0] + RATIO[3] * stood) + tl.where(sure_label, 0.0, ratio)
    others = lanes[2] + tl.where(sure_label, 0.0, p)
    share = tl.where(is_sure, 1.0, 0.0)
    sums = (values, ratios, others, share)
    return finish(sums, margin, log_top, label_leads, margin * 0.0 + 1.0, CODE, RESULTS)


@triton.jit
def sum_of_lanes(sums, counts, own, low, NARROW: tl.constexpr):
    """Of z less the label's, for which ``low`` stood; not finite where a class is masked."""
    peak, _, depths, _ = sums
    return tl.sum(depths - counts * above(own[:, None], peak, NARROW), 1) - (low - own)


@triton.jit
def recounted(
    total,
    begin,
    own,
    kept,
    classes,
    column_stride,
    CONTIGUOUS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The total and the number of classes; of classes that are not masked if the total is not finite.

    Such a row is read once more, few logits at a time, so that no row needs more registers for it.
    """
    present = tl.full([1], classes, tl.float32)
    if tl.min((tl.abs(total) < float("inf")).to(tl.int32), 0) == 0:
        zero = tl.zeros([1, LANES], tl.float32)
        lanes, counts = zero, zero
        for start in range(0, classes, LANES * WIDTH):
            z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
            lanes += tl.sum(tl.where(z == LOWEST, 0.0, z - own[:, None, None]), 2)
            counts += tl.sum(tl.where(z == LOWEST, 0.0, 1.0), 2)
        total, present = tl.sum(lanes, 1), tl.sum(counts, 1)
    return total, present


@triton.jit
def does_for_gradient(p, reach, classes):
    """Whether the series does for the gradient at a class of so many: it is small beside their sum."""
    return (p < LARGEST_SHARE) & (reach * p * p < MISSING * classes)
