"""A training record as witnesses: what the network said of each sample early, midway and late in training."""

from __future__ import annotations

import numpy as np
import torch

from ..dynamics import Record

STAGES = ((0.0, 0.1), (0.1, 0.4), (0.8, 1.0))
"""Parts of the training: before wrong labels are memorised, while they may be, and after."""


def stages(record: Record) -> list[np.ndarray]:
    """(N, C) probabilities for each part of the training.

    The margin of a sample is the log odds of its label, so the label's probability is known exactly; the rest
    goes to the classes that were predicted instead, as often as each was, or by frequency if none was. Rows
    that a part has not seen are taken from the whole record.
    """
    whole = _probabilities(record, 0, record.epochs)
    found = []
    for begin, end in STAGES:
        first = min(int(begin * record.epochs), record.epochs - 1)
        last = max(int(np.ceil(end * record.epochs)), first + 1)
        part = _probabilities(record, first, last)
        found.append(np.where(np.isnan(part), whole, part))
    return found


def _probabilities(record: Record, begin: int, end: int) -> np.ndarray:
    label = record.label.numpy()
    margin = record.margin[begin:end].float().numpy()
    seen = ~np.isnan(margin)
    visits = seen.sum(0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        given = np.where(seen, 1 / (1 + np.exp(-margin)), 0).sum(0) / visits
    others = _votes(record, begin, end, seen)
    others[np.arange(len(label)), label] = 0
    frequency = np.bincount(label, minlength=record.num_classes) / len(label) + 1e-6
    others += 1e-3 * frequency * (np.arange(record.num_classes) != label[:, None])
    found = others / others.sum(1, keepdims=True) * (1 - given)[:, None]
    found[np.arange(len(label)), label] = given
    return np.asarray(found, dtype=np.float32)


def _votes(record: Record, begin: int, end: int, seen: np.ndarray) -> np.ndarray:
    votes = torch.zeros(len(record), record.num_classes)
    chosen = record.prediction[begin:end].clamp_min(0).long()
    votes.scatter_add_(1, chosen.T, torch.from_numpy(seen).float().T)
    return votes.numpy()
