"""The order of samples, batches and the validation split."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.train.batches import balanced_size, batch_bounds, epoch_order, split_positions


@given(st.integers(1, 300), st.integers(1, 70))
def test_batches_cover_every_sample_once_without_single_samples(samples, size):
    bounds = batch_bounds(samples, size)
    assert bounds[0][0] == 0
    assert bounds[-1][1] == samples
    assert all(first[1] == second[0] for first, second in pairwise(bounds))
    sizes = [stop - start for start, stop in bounds]
    assert max(sizes) <= size + 1
    if samples > 1 and size > 1:
        assert min(sizes) > 1


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60, unique=True), st.integers(0, 2**61))
def test_order_depends_on_the_index_not_the_position(numbers, seed):
    index = torch.tensor(numbers)
    order = index[epoch_order(index, seed=seed, epoch=3)]
    shuffled = index.flip(0)
    assert torch.equal(shuffled[epoch_order(shuffled, seed=seed, epoch=3)], order)
    assert sorted(order.tolist()) == sorted(numbers)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.integers(1, 12), st.integers(1, 50))
def test_balanced_epoch_limits_samples_per_class(labels, share, epoch):
    label, index = torch.tensor(labels), torch.arange(len(labels)) + 7
    chosen = epoch_order(index, seed=3, epoch=epoch, label=label, share=share)
    assert len(set(chosen.tolist())) == len(chosen) == balanced_size(label, share)
    counts = torch.bincount(label, minlength=4).clamp(max=share)
    assert torch.equal(torch.bincount(label[chosen], minlength=4), counts)
    whole = epoch_order(index, seed=3, epoch=epoch)
    assert chosen.tolist() == [place for place in whole.tolist() if place in set(chosen.tolist())]


def test_balanced_epochs_visit_samples_equally_often():
    label = (torch.arange(60) >= 50).long()
    orders = [epoch_order(torch.arange(60), seed=1, epoch=e, label=label, share=10) for e in range(1, 401)]
    counts = torch.bincount(torch.cat(orders), minlength=60)
    assert (counts[50:] == 400).all()
    assert ((counts[:50] - 80).abs() < 5 * (80 * 0.8) ** 0.5).all()


def test_orders_differ_between_epochs_and_seeds():
    index = torch.arange(1000)
    orders = [epoch_order(index, seed=seed, epoch=epoch) for seed in (0, 1) for epoch in (1, 2)]
    for place, first in enumerate(orders):
        for second in orders[place + 1 :]:
            assert (first == second).float().mean() < 0.02


def test_first_sample_is_uniformly_distributed():
    first = torch.stack([epoch_order(torch.arange(10), seed=5, epoch=e)[0] for e in range(1, 2001)])
    counts = torch.bincount(first, minlength=10)
    assert ((counts - 200).abs() < 5 * 200**0.5).all()


def test_split_is_disjoint_and_complete_with_the_requested_size():
    index = torch.arange(100) + 50
    kept, aside = split_positions(index, 0.13, seed=4)
    assert (len(kept), len(aside)) == (87, 13)
    assert sorted(torch.cat([kept, aside]).tolist()) == list(range(100))
    assert not torch.equal(aside, split_positions(index, 0.13, seed=5)[1])


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_empty_split_raises_an_error(share):
    with pytest.raises(ValueError, match="leaves no samples for training"):
        split_positions(torch.arange(10), share, seed=0)
