"""The parts of a judgement: cut, score, alignment of lost classes, estimates, windows to choose among."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.dynamics import Record
from noiseproof.labels.estimate import estimate
from noiseproof.labels.evidence import lowest_with_best_f1, standard
from noiseproof.labels.from_record import record_evidence
from noiseproof.labels.score import label_score
from noiseproof.labels.unlearned import align, as_elsewhere, learned_classes
from noiseproof.labels.window import candidates

NUMBERS = st.lists(st.integers(-50, 50), min_size=1, max_size=30, unique=True)


@settings(deadline=None)
@given(NUMBERS, st.randoms())
def test_the_cut_has_the_best_f1_against_the_votes(margins, random):
    wrong = [random.choice([0.0, 0.25, 0.5, 1.0]) for _ in margins]
    ordered = [w for _, w in sorted(zip(margins, wrong, strict=True))]
    found = lowest_with_best_f1(torch.tensor(margins).float(), torch.tensor(wrong))
    scores = [2 * sum(ordered[:n]) / (n + sum(wrong)) if n else 0.0 for n in range(len(margins) + 1)]
    assert scores[found] == pytest.approx(max(scores))


@settings(deadline=None)
@given(NUMBERS, st.integers(0, 30))
def test_scores_keep_the_order_and_as_many_are_below_one_half_as_are_suspected(margins, suspects):
    suspects = min(suspects, len(margins))
    score = label_score(torch.tensor(margins).float(), suspects)
    assert int((score < 0.5).sum()) == suspects
    assert (score[torch.tensor(margins).argsort()].diff() >= 0).all()


def test_scores_leave_the_margins_as_they_were():
    margin = torch.tensor([-3.0, 1.0, 2.0], dtype=torch.float64)
    label_score(margin, suspects=1)
    assert margin.tolist() == [-3.0, 1.0, 2.0]


def test_samples_of_one_margin_share_their_fate():
    score = label_score(torch.tensor([1.0, 1.0, 1.0, 5.0]), suspects=2)
    assert (score[:3] < 0.5).unique().tolist() == [False]
    assert label_score(torch.full((3,), torch.nan), 0).isnan().all()


def with_ending(right, wrong):
    """A record of 10 epochs, 4 samples; the last label is beaten at first; margins of the last two given."""
    margin = torch.tensor([[2.0, 2.0, 2.0, -2.0]]).repeat(10, 1)
    margin[8:, :3], margin[8:, 3] = torch.tensor(right), wrong
    label, names = torch.zeros(4, dtype=torch.int64), ("a", "b")
    prediction = (margin < 0).int()
    return Record(torch.arange(4), label, None, names, margin.half(), prediction)


def test_the_end_is_heard_if_it_still_contradicts_and_not_if_all_is_memorised():
    robust, by_heart = with_ending([1.0, 3.0, 5.0], -4.0), with_ending([1.0, 3.0, 5.0], 9.0)
    alone = record_evidence(robust, slice(0, 5)).margin
    assert alone[:3].unique().tolist() == [2.0]
    heard, unheard = (record_evidence(record, slice(0, 5), late=True).margin for record in (robust, by_heart))
    assert heard.argsort().tolist() == [3, 0, 1, 2]
    assert unheard[:3].unique().numel() == 1
    last = torch.tensor([1.0, 3.0, 5.0, -4.0])
    expected = standard(alone) + standard(last) / 3
    torch.testing.assert_close(heard, expected)


def test_where_the_end_saw_no_one_the_window_decides():
    record = with_ending([1.0, 3.0, 5.0], -4.0)
    record.margin[8:], record.prediction[8:] = torch.nan, -1
    assert record_evidence(record, slice(0, 5), late=True).margin.argsort()[0] == 3


def test_only_classes_that_are_never_predicted_are_moved():
    label = torch.tensor([0] * 10 + [1] * 10 + [2] * 10)
    margin = torch.arange(30).float()
    margin[20:] -= 100
    predicted = torch.tensor([0] * 10 + [1] * 3 + [0] * 7 + [0] * 8 + [2] * 2)
    found = align(margin, label, learned_classes(label, predicted, num_classes=4))
    assert torch.equal(found[:20], margin[:20])
    assert torch.equal(found[20:].argsort(), margin[20:].argsort())
    assert float(found[20:].median()) == float(margin[:20].median())


def test_a_class_that_takes_the_samples_of_another_is_not_learned_by_that():
    label = torch.tensor([0] * 10 + [1] * 10 + [2] * 10 + [3] * 10)
    predicted = torch.tensor([1] * 10 + [2] * 9 + [1] + [2] * 9 + [3] + [3] * 10)
    assert learned_classes(label, predicted, 5).tolist() == [False, False, True, True, True]


def test_where_labels_are_mostly_wrong_classes_are_learned_all_the_same():
    """Each is said as often as it is given, and gives back a fifth of its labels."""
    label = torch.arange(5).repeat_interleave(20)
    predicted = torch.arange(5).repeat(20)
    assert learned_classes(label, predicted, 5).all()


def test_where_no_class_was_learned_nothing_is_moved():
    margin, label = torch.tensor([1.0, -9.0]), torch.tensor([0, 1])
    learned = learned_classes(label, torch.tensor([2, 2]), 3)
    assert torch.equal(align(margin, label, learned), margin)
    assert not as_elsewhere(torch.ones(2), margin, label, learned).any()


def test_of_a_class_that_is_never_predicted_as_many_labels_are_wrong_as_of_others():
    label = torch.tensor([0] * 10 + [1] * 10)
    wrong = torch.tensor([1.0] * 3 + [0.0] * 7 + [1.0] * 10)
    margin = torch.arange(20).float()
    found = as_elsewhere(wrong, margin, label, torch.tensor([True, False]))
    assert found[:10].tolist() == wrong[:10].tolist()
    assert found[10:].tolist() == [1.0] * 3 + [0.0] * 7
    assert torch.equal(as_elsewhere(wrong, margin, label, torch.tensor([True, True])), wrong)


def test_a_suspect_without_another_class_counts_as_wrong():
    found = estimate(torch.tensor([0, 0, 1, 1]), torch.tensor([0, -1, 1, 0]), 2)
    assert found.noise_rate == 0.5
    assert found.class_noise_rate == [0.5, 0.5]
    assert found.transition == [[0.5, 0.5], [0.0, 1.0]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=50))
def test_estimates_count_pairs(pairs):
    label, likely = torch.tensor(pairs).T
    found = estimate(label, likely, 4)
    assert found.noise_rate == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
    for i in range(4):
        row = [pair for pair in pairs if pair[1] == i]
        column = [pair for pair in pairs if pair[0] == i]
        expected = [sum(a == j for a, _ in row) / len(row) if row else float(i == j) for j in range(4)]
        assert found.transition[i] == pytest.approx(expected)
        share = sum(b != i for _, b in column) / len(column) if column else 0
        assert found.class_noise_rate[i] == pytest.approx(share)


@given(st.integers(1, 2000))
def test_windows_go_from_five_epochs_to_all(epochs):
    found = candidates(epochs)
    assert found[0] == min(5, epochs)
    assert found[-1] == epochs
    assert found == sorted(set(found))
    assert len(found) <= 24
