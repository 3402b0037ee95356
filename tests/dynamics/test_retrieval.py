"""mAP and CMC of videos, compared with values computed by hand and by scikit-learn."""

import pytest
import torch
from sklearn.metrics import average_precision_score

from noiseproof.data.sources.real_world import Frame
from noiseproof.dynamics.retrieval import rank, rank_videos


def at(degrees):
    angle = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack([angle.cos(), angle.sin()], 1)


def test_ranking_matches_values_computed_by_hand():
    """Query 0 finds others, match, match: (1/2 + 2/3) / 2; query 4 finds match, others: 1."""
    features = at([0.0, 5.0, 10.0, 20.0, 90.0, 80.0])
    person = torch.tensor([1, 9, 1, 1, 3, 3])
    camera = torch.tensor([1, 2, 2, 3, 1, 2])
    found = rank(features * 7, person, camera, torch.tensor([0, 4]))
    assert found.mean_average_precision == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1) / 2)
    assert found.cmc.tolist() == [0.5, 1, 1, 1, 1, 1]


def test_videos_of_the_same_camera_are_excluded():
    features, person = at([0.0, 1.0, 2.0, 3.0]), torch.tensor([1, 1, 2, 1])
    found = rank(features, person, torch.tensor([1, 1, 1, 2]), torch.tensor([0]))
    assert found.mean_average_precision == 0.5  # the person of the first camera at 1 degree is left out


def test_queries_without_a_match_are_ignored():
    features, person, camera = at([0.0, 1.0, 2.0]), torch.tensor([1, 1, 2]), torch.tensor([1, 2, 1])
    assert rank(features, person, camera, torch.tensor([0, 2])).mean_average_precision == 1
    nothing = rank(features, person, camera, torch.tensor([2]))
    assert (nothing.mean_average_precision, nothing.cmc.tolist()) == (None, [0, 0, 0])


def test_average_precision_matches_scikit_learn():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(60, 5, generator=generator)
    person, camera = (torch.randint(0, 6, (60,), generator=generator) for _ in range(2))
    query = torch.arange(0, 60, 7)
    unit = features.double() / features.double().norm(dim=1, keepdim=True)
    wanted = []
    for one in query:
        kept = ~((person == person[one]) & (camera == camera[one]))
        scores = unit[kept] @ unit[one]
        wanted.append(average_precision_score((person[kept] == person[one]).numpy(), scores.numpy()))
    found = rank(features, person, camera, query).mean_average_precision
    assert found == pytest.approx(sum(wanted) / len(wanted), abs=1e-12)


def test_frames_are_averaged_before_normalisation():
    """The mean of (10, 0) and (0, 2) has the angle 11 degrees, that of their directions 45."""
    frames = [Frame(1, 1, 1, 1), Frame(1, 2, 1, 1), Frame(1, 2, 1, 2), Frame(0, 1, 1, 1), Frame(-1, 1, 1, 1)]
    features = torch.cat([at([0.0]), torch.tensor([[10.0, 0.0], [0.0, 2.0]]), at([20.0]), at([0.0])])
    assert rank_videos(features, frames).mean_average_precision == 0.75


def test_first_video_of_each_camera_is_the_query():
    """The queries are at 0 and 10 degrees; the video at 90, nearest to another person, is not a query."""
    frames = [Frame(1, 1, 1, 1), Frame(1, 1, 2, 1), Frame(1, 2, 1, 1), Frame(0, 3, 1, 1)]
    found = rank_videos(at([0.0, 90.0, 10.0, 80.0]), frames)
    assert found.mean_average_precision == pytest.approx((1 + (1 + 2 / 3) / 2) / 2)
    assert found.cmc[0] == 1


def test_given_queries_replace_the_first_videos():
    """Only the video at 90 degrees is a query: the nearest is another person at 80, then the match at 10."""
    frames = [Frame(1, 1, 1, 1), Frame(1, 1, 2, 1), Frame(1, 2, 1, 1), Frame(0, 3, 1, 1)]
    found = rank_videos(at([0.0, 90.0, 10.0, 80.0]), frames, queries={(1, 1, 2), (7, 1, 1)})
    assert found.mean_average_precision == 0.5
    assert found.cmc.tolist() == [0, 1, 1, 1]
