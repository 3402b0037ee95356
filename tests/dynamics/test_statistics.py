"""Statistics of the record against a plain loop over samples and epochs, with any pattern of visits."""

import math
import statistics
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.dynamics import Record
from noiseproof.dynamics.statistics import (
    STATISTICS,
    available,
    blocks,
    clean_probability,
    fit_mixture,
    majority_prediction,
)

CLASSES = 3
VISIT = st.one_of(st.none(), st.tuples(st.integers(-40, 40), st.integers(0, CLASSES - 1)))


def make(histories, labels):
    """A record of samples whose visits are (margin, prediction) or None, with columns made of these."""
    margin = [[math.nan if v is None else v[0] / 4 for v in history] for history in histories]
    prediction = [[-1 if v is None else v[1] for v in history] for history in histories]
    names = tuple("abc")
    index = torch.arange(len(labels)) * 7 + 3
    columns = torch.tensor(margin).T.half(), torch.tensor(prediction).T.int()
    extra = {"tau": columns[0].float().sigmoid().half(), "target_probability": 1 / (1 + columns[0] ** 2)}
    return Record(index, torch.tensor(labels), None, names, *columns, extra)


@st.composite
def histories(draw):
    epochs, samples = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    rows = [draw(st.lists(VISIT, min_size=epochs, max_size=epochs)) for _ in range(samples)]
    return rows, draw(st.lists(st.integers(0, CLASSES - 1), min_size=samples, max_size=samples))


def area(visits):
    """Mean height of the polygon through the visits (epoch, margin)."""
    if len(visits) == 1:
        return visits[0][1]
    steps = list(pairwise(visits))
    return sum((b - a) * (x + y) / 2 for (a, x), (b, y) in steps) / (visits[-1][0] - visits[0][0])


def by_hand(history, label):
    seen = [(epoch, v[0] / 4, v[1]) for epoch, v in enumerate(history) if v is not None]
    if not seen:
        return None
    margins, right = [m for _, m, _ in seen], [p == label for _, _, p in seen]
    chance = [1 / (1 + math.exp(-m)) for m in margins]
    votes = [sum(p == k for _, _, p in seen) for k in range(CLASSES)]
    return {
        "area_under_margin": area([(epoch, m) for epoch, m, _ in seen]),
        "mean_margin": statistics.mean(margins),
        "final_margin": margins[-1],
        "confidence": statistics.mean(chance),
        "variability": statistics.pstdev(chance),
        "correctness": statistics.mean(right),
        "forgetting": sum(a and not b for a, b in pairwise(right)),
        "first_learned": next((epoch + 1 for epoch, _, p in seen if p == label), math.inf),
        "disagreement": (max(votes) - votes[label]) / len(seen),
        "tau": chance[-1],
        "memory_disagreement": 1 - 1 / (1 + margins[-1] ** 2),
    }


@settings(deadline=None, max_examples=50)
@given(histories())
def test_statistics_match_a_plain_loop(drawn):
    rows, labels = drawn
    record = make(rows, labels)
    for row, (history, label) in enumerate(zip(rows, labels, strict=True)):
        expected = by_hand(history, label)
        for name in available(record):
            found = float(STATISTICS[name](record)[row])
            if expected is None:
                assert math.isnan(found), name
            elif name != "clean_probability":
                assert found == pytest.approx(expected[name], abs=2e-3), name


@settings(deadline=None, max_examples=50)
@given(histories())
def test_majority_ties_resolve_to_the_given_label_then_the_smallest_class(drawn):
    rows, labels = drawn
    for history, label, found in zip(rows, labels, majority_prediction(make(*drawn)).tolist(), strict=True):
        votes = [sum(v is not None and v[1] == k for v in history) for k in range(CLASSES)]
        if not any(votes):
            assert found == -1
        else:
            assert found == (label if votes[label] == max(votes) else votes.index(max(votes)))


@pytest.mark.parametrize("name", STATISTICS)
def test_block_size_does_not_change_statistics(name, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    prediction = torch.randint(-1, CLASSES, (6, 50), generator=generator).int()
    margin = torch.where(prediction < 0, torch.nan, torch.randn(6, 50, generator=generator)).half()
    label = torch.randint(CLASSES, (50,), generator=generator)
    extra = {"tau": margin.float().sigmoid().half(), "target_probability": margin}
    record = Record(torch.arange(50), label, None, tuple("abc"), margin, prediction, extra)
    whole = STATISTICS[name](record)
    monkeypatch.setattr(blocks, "CELLS", 42)
    assert len(list(blocks.blocks(record))) == 8
    torch.testing.assert_close(STATISTICS[name](record), whole, equal_nan=True)


def empty_record(epochs, samples):
    cells = torch.zeros(epochs, samples)
    return Record(
        torch.arange(samples), torch.zeros(samples).long(), None, ("a", "b"), cells.half(), cells.int()
    )


def test_empty_record_gives_nan():
    empty = empty_record(0, 2)
    nobody = empty_record(3, 0)
    for name in available(empty):
        assert STATISTICS[name](empty).isnan().tolist() == [True, True]
        assert STATISTICS[name](nobody).shape == (0,)


def test_columns_of_methods_are_read_at_the_last_visit():
    nan = math.nan
    record = make([[(0, 0), (1, 0), None], [(0, 0), None, None]], [0, 1])
    record = replace(record, extra={"tau": torch.tensor([[0.25, 0.5], [0.75, nan], [nan, nan]]).half()})
    assert STATISTICS["tau"](record).tolist() == [0.75, 0.5]
    assert set(STATISTICS) - set(available(record)) == {"memory_disagreement"}
    with pytest.raises(ValueError, match=r"no column 'target_probability'.*columns: margin, prediction, tau"):
        STATISTICS["memory_disagreement"](record)


def test_mixture_recovers_weights_means_and_deviations():
    generator = torch.Generator().manual_seed(1)
    low = torch.randn(30_000, generator=generator) * 1.5 - 4
    high = torch.randn(70_000, generator=generator) * 0.5 + 3
    found = fit_mixture(torch.cat([high, low]))
    assert found.weight.tolist() == pytest.approx([0.3, 0.7], abs=0.01)
    assert found.mean.tolist() == pytest.approx([-4, 3], abs=0.05)
    assert found.std.tolist() == pytest.approx([1.5, 0.5], abs=0.03)


def normal(value, mean, std):
    return math.exp(-(((value - mean) / std) ** 2) / 2) / std


def two_groups(values):
    """Expectation maximisation without bins, initialised by a split at the middle."""
    middle = (min(values) + max(values)) / 2
    high = [float(value > middle) for value in values]
    for _ in range(300):
        groups = []
        for share in ([1 - h for h in high], high):
            size = sum(share)
            mean = sum(s * v for s, v in zip(share, values, strict=True)) / size
            spread = sum(s * (v - mean) ** 2 for s, v in zip(share, values, strict=True)) / size
            groups.append((size / len(values), mean, math.sqrt(spread)))
        densities = [[w * normal(v, m, s) for w, m, s in groups] for v in values]
        high = [b / (a + b) for a, b in densities]
    return groups, high


@pytest.mark.parametrize("seed", range(3))
def test_mixture_matches_a_plain_loop(seed):
    generator = torch.Generator().manual_seed(seed)
    low, high = torch.randn(60, generator=generator) - 3, 1.5 * torch.randn(140, generator=generator) + 3
    values = [round(4 * v) for v in torch.cat([low, high]).tolist()]
    record = make([[(value, 0)] for value in values], [0] * len(values))
    margins = [value / 4 for value in values]
    groups, chance = two_groups(margins)
    found = fit_mixture(torch.tensor(margins))
    for place, (weight, mean, std) in enumerate(groups):
        assert float(found.weight[place]) == pytest.approx(weight, abs=2e-3)
        assert float(found.mean[place]) == pytest.approx(mean, abs=1e-2)
        assert float(found.std[place]) == pytest.approx(std, abs=1e-2)
    between = [row for row, v in enumerate(margins) if groups[0][1] <= v <= groups[1][1]]
    assert len(between) > 80
    found_chance = clean_probability(record)
    for row in between:
        assert float(found_chance[row]) == pytest.approx(chance[row], abs=5e-3)


def test_mixture_weights_of_overlapping_groups():
    generator = torch.Generator().manual_seed(2)
    values = torch.cat(
        [torch.randn(20_000, generator=generator) - 1.5, torch.randn(80_000, generator=generator) + 1.5]
    )
    assert float(fit_mixture(values).weight[0]) == pytest.approx(0.2, abs=0.02)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-300, 300), min_size=2, max_size=40))
def test_clean_probability_is_non_decreasing_in_the_margin(values):
    mixture = fit_mixture(torch.tensor(values).float())
    if mixture is None:
        assert len(set(values)) == 1
        return
    assert float(mixture.weight.sum()) == pytest.approx(1)
    chance = mixture.high_probability(torch.arange(-320, 321, dtype=torch.float64))
    assert ((chance >= 0) & (chance <= 1)).all()
    assert (chance.diff() >= -1e-12).all()


def test_clean_probability_of_equal_margins_is_one():
    record = make([[(8, 0)], [(8, 1)], [None]], [0, 0, 0])
    assert clean_probability(record)[:2].tolist() == [1, 1]
    assert clean_probability(record)[2].isnan()


def test_a_single_outlier_is_a_group():
    record = make([[(20, 0)]] * 30 + [[(-20, 1)]], [0] * 31)
    chance = clean_probability(record)
    assert chance[:30].min() > 0.99
    assert chance[30] < 0.01
