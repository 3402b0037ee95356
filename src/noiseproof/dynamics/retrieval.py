"""Retrieval metrics: finding a person in other cameras by the features of videos (MARS)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ..data.sources.real_world import Frame


class Ranking(NamedTuple):
    """Mean average precision, and the cumulated matching characteristics (CMC)."""

    mean_average_precision: float | None
    """None if no query has a match."""
    cmc: Tensor
    """[k - 1]: share of queries with a match among the k nearest."""


def rank(features: Tensor, person: Tensor, camera: Tensor, query: Tensor) -> Ranking:
    """Rank all other videos by cosine similarity, for every query.

    Videos of the same person in the same camera, including the query, are excluded. Queries without a match
    are ignored. Average precision is the mean of the precisions at the ranks of the matches.

    Shape:
        features (N, D); person, camera (N,); query (Q,) positions
    Example:
        >>> features = torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [0.0, 1.0]])
        >>> person, camera = torch.tensor([1, 2, 1, 1]), torch.tensor([1, 2, 2, 2])
        >>> rank(features, person, camera, torch.tensor([0]))
        Ranking(mean_average_precision=0.583..., cmc=tensor([0., 1., 1., 1.]))
    """
    unit = normalize(features.double(), dim=1)
    precisions, first_ranks = list[float](), list[int]()
    for one in query.tolist():
        kept = (person != person[one]) | (camera != camera[one])
        order = (unit[kept] @ unit[one]).argsort(descending=True, stable=True)
        ranks = 1 + (person[kept][order] == person[one]).nonzero().flatten()
        if len(ranks):
            precisions.append(float((torch.arange(1, len(ranks) + 1) / ranks.double()).mean()))
            first_ranks.append(int(ranks[0]) - 1)
    found = torch.bincount(torch.tensor(first_ranks, dtype=torch.int64), minlength=len(features)).cumsum(0)
    mean = sum(precisions) / len(precisions) if precisions else None
    return Ranking(mean, found / max(1, len(first_ranks)))


def rank_videos(
    features: Tensor, frames: Sequence[Frame], queries: Collection[tuple[int, int, int]] | None = None
) -> Ranking:
    """Rank tracklets by the mean features of their frames.

    ``queries`` are person, camera and tracklet; None: the first tracklet of each person and camera.
    Person 0 means an unknown identity, which is never a query and never matches. Person -1 is left out.
    """
    names = [frame[:3] for frame in frames]
    videos = sorted({name for name in names if name[0] >= 0})
    number_of = {name: number for number, name in enumerate(videos)}
    kept = torch.tensor([row for row, name in enumerate(names) if name in number_of], dtype=torch.int64)
    video = torch.tensor([number_of[name] for name in names if name in number_of], dtype=torch.int64)
    sums = features.new_zeros(len(videos), features.shape[1]).index_add_(0, video, features[kept])
    mean = sums / torch.bincount(video, minlength=len(videos)).unsqueeze(1)
    person, camera, _ = torch.tensor(videos, dtype=torch.int64).view(-1, 3).unbind(1)
    first = {name[:2]: name for name in reversed(videos) if name[0] > 0}
    wanted = first.values() if queries is None else queries
    chosen = sorted(number_of[name] for name in wanted if name in number_of)
    return rank(mean, person, camera, torch.tensor(chosen, dtype=torch.int64))
