"""A transition matrix from anchor points, samples whose class is nearly certain."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from .arrays import Floats, as_numpy, as_tensor

PERCENTILE = 97.0


def anchor_transition(probabilities: object, *, percentile: float | None = PERCENTILE) -> Tensor:
    r"""Estimate :math:`T_{ij}` = P(given j | clean i) from probabilities of the given labels.

    Estimate:
        for every class i the anchor is the sample with the largest :math:`p_i`, and its probabilities are
        row i. With ``percentile`` (97 in the paper) the samples at or above that percentile of :math:`p_i`
        are skipped as outliers; with None the maximum over all samples is used (the authors' choice
        for CIFAR-100), as it is where no sample is below the percentile.
    Bias:
        without perfect anchors rows are biased towards the prior; the percentile rule increases this bias
        when the class of fewer than 3% of the samples is nearly certain.
    Public code:
        skips outliers by writing zeros into the probabilities, so that later rows may contain those
        zeros. Here the probabilities are not changed.
    Shape:
        probabilities (N, K), rows sum to 1; result (K, K) float64, rows sum to 1
    Example:
        >>> anchor_transition([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], percentile=None)
        tensor([[0.9000, 0.1000],
                [0.2000, 0.8000]], dtype=torch.float64)

    Reference:
        Patrini et al., Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach, CVPR
        2017, section 4.3
    """
    table = as_probabilities(probabilities)
    if percentile is not None and not 0 <= percentile <= 100:
        raise ValueError(f"percentile={percentile!r} is out of range, it must satisfy 0 <= percentile <= 100")
    rows = table[[_anchor(column, percentile) for column in table.T]]
    return as_tensor(rows / rows.sum(1, keepdims=True))


def _anchor(column: Floats, percentile: float | None) -> int:
    if percentile is not None:
        below = column < np.percentile(column, percentile, method="higher")
        if below.any():
            return int(np.argmax(np.where(below, column, -1.0)))
    return int(np.argmax(column))


def as_probabilities(values: object) -> Floats:
    """(N, K) probabilities in float64; raises ValueError for the first invalid row."""
    array = as_numpy(values)
    if array.ndim != 2 or array.shape[1] < 2 or len(array) == 0 or array.dtype.kind != "f":
        raise ValueError(
            f"probabilities must be floating point of shape (N, K) with N >= 1 and K >= 2, got {array.dtype}"
            f" of shape {array.shape}"
        )
    table = array.astype(np.float64)
    good = np.isfinite(table).all(1) & (table >= 0).all(1) & (np.abs(table.sum(1) - 1) < 1e-2)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise ValueError(
            f"probabilities[{row}] is not a probability distribution: {table[row].tolist()[:8]}"
            " (apply softmax to logits)"
        )
    return table
