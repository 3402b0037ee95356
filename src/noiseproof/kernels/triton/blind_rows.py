# mypy: ignore-errors
"""Triton: what ``blind_kernel`` finds of a row, from its statistics and all its logits."""

import triton
import triton.language as tl

from .classes import LOG_SMALL, QUIET, exact_terms, terms_of_classes
from .program import exp, fast_exp, logsigmoid, sigmoid
from .rows import LOWEST, block_of
from .shares import share_of, share_of_label

LOG_SURE = tl.constexpr(-0.2876820724517809)
TINY = tl.constexpr(1e-35)


@triton.jit
def levels(state, row, kept, rows):
    """Margin, peak, 1 / mass and log p of the peak, from the statistics of the row."""
    margin = tl.load(state + row, mask=kept, other=0.0)
    peak = tl.load(state + rows + row, mask=kept, other=0.0)
    mass = tl.load(state + 2 * rows + row, mask=kept, other=1.0)
    alone = mass == 0.0
    mass = tl.where(alone, 1.0, mass)
    log_peak = tl.where(alone, QUIET, logsigmoid(-margin) - tl.log(mass))
    return margin, tl.where(peak == LOWEST, 0.0, peak), tl.where(alone, 0.0, 1.0 / mass), log_peak


@triton.jit
def numbers_of(
    of,
    logits,
    prior,
    state,
    sizes,
    HAS_PRIOR: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """What ``found`` gets for the rows ``of``, whose statistics are in ``state``."""
    row, label, kept = of
    rows, classes, row_stride, column_stride = sizes
    begin = logits + tl.minimum(row, rows - 1) * row_stride
    in_range = kept & (label >= 0) & (label < classes)
    own = tl.load(begin + label * column_stride, mask=in_range, other=0.0).to(tl.float32)
    margin, peak, _, log_peak = levels(state, row, kept, rows)
    top = tl.maximum(own, peak)
    log_top = tl.where(own >= peak, logsigmoid(margin), log_peak)
    cut = tl.where(log_top > LOG_SURE, top, float("inf"))
    zero = tl.zeros([ROWS, LANES], tl.float32)
    sums = (zero, zero, zero, zero)
    stop = classes * tl.max(kept.to(tl.int32), 0)
    whole = stop // (LANES * WIDTH) * (LANES * WIDTH)
    for start in range(0, whole, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
        share = share_of(prior, start, classes, HAS_PRIOR, True, ROWS, LANES, WIDTH)
        sums = take(sums, z, share, top, log_top, cut, CODE, RESULTS)
    for start in range(whole, stop, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        share = share_of(prior, start, classes, HAS_PRIOR, False, ROWS, LANES, WIDTH)
        sums = take(sums, z, share, top, log_top, cut, CODE, RESULTS)
    at_label = share_of_label(prior, label, in_range) if HAS_PRIOR else margin * 0.0 + 1.0
    sums = (tl.sum(sums[0], 1), tl.sum(sums[1], 1), tl.sum(sums[2], 1), tl.sum(sums[3], 1))
    return finish(sums, margin, log_top, own >= peak, at_label, CODE, RESULTS)


@triton.jit
def highest_or_masked(low, log_top):
    """The largest log p of a block, infinite if one of its classes is masked."""
    found = tl.where(tl.min(low, 2) == LOWEST, float("inf"), tl.max(low, 2) + log_top[:, None])
    return tl.max(tl.max(found, 1), 0)


@triton.jit
def take(sums, z, share, top, log_top, cut, CODE: tl.constexpr, RESULTS: tl.constexpr):
    """Take one block in: sums of values, of ratios and of p without the sure class, and its share.

    Most blocks hold unlikely classes alone, none of them masked: few operations are enough for those.
    """
    weight = share
    low = z - top[:, None, None]
    log_p = low + log_top[:, None, None]
    p = fast_exp(log_p)
    sure_share = sums[3]
    if highest_or_masked(low, log_top) < LOG_SMALL:
        value, ratio = terms_of_classes(log_p, p, CODE, RESULTS, True)
        value, ratio = weight * value, weight * ratio
    else:
        is_sure = z == cut[:, None, None]
        sure_share += tl.sum(tl.where(is_sure, weight, 0.0), 2)
        absent = is_sure | (z == LOWEST)
        p = tl.where(absent, 0.0, p)
        value, ratio = terms_of_classes(tl.where(absent, -1.0, log_p), p, CODE, RESULTS, False)
        value, ratio = tl.where(absent, 0.0, weight * value), tl.where(absent, 0.0, weight * ratio)
    return sums[0] + tl.sum(value, 2), sums[1] + tl.sum(ratio, 2), sums[2] + tl.sum(p, 2), sure_share


@triton.jit
def finish(sums, margin, log_top, label_leads, label_share, CODE: tl.constexpr, RESULTS: tl.constexpr):
    """The rows of ``found`` from the sums of ``take`` over a row."""
    values, ratios, others, share = sums
    p, rest = sigmoid(margin), sigmoid(-margin)
    others = tl.maximum(tl.where(label_leads, rest, others), TINY)
    top_value, top_emphasis = exact_terms(
        tl.where(label_leads, margin, log_top - tl.log(others)), CODE, RESULTS
    )
    is_sure = share > 0.0
    value = tl.where(is_sure, share * top_value, 0.0)
    emphasis = tl.where(is_sure, share * top_emphasis, 0.0)
    _, own = exact_terms(margin, CODE, RESULTS)
    pull = ratios + emphasis / others
    at_sure = exp(log_top) * ratios - emphasis
    sure_label = label_leads & (log_top > LOG_SURE)
    at_label = tl.where(sure_label, at_sure, p * pull - label_share * own / tl.maximum(rest, TINY))
    by_direction = tl.where(sure_label, rest * ratios + emphasis, rest * pull)
    return values + value, by_direction, at_label, at_sure
