"""Groups of classes, and errors for invalid ones."""

import numpy as np
import pytest
import torch

from noiseproof.noise import corrupt, transition
from noiseproof.noise.groups import as_groups


def test_groups_by_name_number_or_tensor():
    wanted = [1, 0, 1, 0]
    for groups in (["b", "a", "b", "a"], [7, 3, 7, 3], torch.tensor([1, 0, 1, 0]), np.array([2, -1, 2, -1])):
        assert as_groups(groups, 4).tolist() == wanted
        assert corrupt([0, 1], "sibling(0.5)", num_classes=4, seed=0, groups=groups).manifest.groups == (
            1,
            0,
            1,
            0,
        )


@pytest.mark.parametrize(
    ("spec", "groups", "message"),
    [
        ("sibling(0.2)", None, "superclasses are missing: write sibling.* grouping=.all.* pass groups="),
        ("cycle(0.2)", [0, 0, 1], "cycle: class 2 is the only class of its group"),
        ('pair(0.2, grouping="index_block")', None, "3 classes do not split into blocks of 5"),
        ('asymmetric(0.2, map="cifar10")', None, "'cifar10' is for 10 classes, not for 3"),
        ('asymmetric(0.2, map="0>3")', None, "'0>3' of the class map '0>3' is not valid"),
    ],
)
def test_invalid_groups_are_refused(spec, groups, message):
    with pytest.raises(ValueError, match=message):
        corrupt([0, 1, 2], spec, num_classes=3, seed=0, groups=groups)


def test_index_blocks_need_no_groups_and_ignore_them():
    spec = 'cycle(1.0, grouping="index_block", block=2)'
    with_groups = transition(spec, num_classes=4, groups=[0, 1, 0, 1])
    assert torch.equal(with_groups, transition(spec, num_classes=4))
    assert with_groups.argmax(1).tolist() == [1, 0, 3, 2]


def test_groups_of_different_sizes():
    matrix = transition("sibling(0.4)", num_classes=5, groups=[0, 0, 1, 1, 1])
    assert matrix[0].tolist() == pytest.approx([0.6, 0.4, 0, 0, 0])
    assert matrix[4].tolist() == pytest.approx([0, 0, 0.2, 0.2, 0.6])


SUPERCLASSES = """
4 1 14 8 0 6 7 7 18 3 3 14 9 18 7 11 3 9 7 11 6 11 5 10 7 6 13 15 3 15 0 11 1 10 12 14 16 9 11 5
5 19 8 8 15 13 14 17 18 10 16 4 17 4 2 0 17 4 18 17 10 3 2 12 12 16 12 1 9 19 2 10 0 1 16 12 9 13
15 13 16 19 2 4 6 19 5 5 8 19 18 1 2 15 6 0 17 8 14 13
"""


def test_index_blocks_differ_from_cifar100_superclasses():
    """Public code cycles inside blocks of five indices: only 6 of its 100 flips stay in a superclass."""
    groups = np.array(SUPERCLASSES.split(), dtype=int)
    assert np.bincount(groups).tolist() == [5] * 20
    blocks = transition('cycle(1.0, grouping="index_block")', num_classes=100).argmax(1).numpy()
    assert int((groups[blocks] == groups).sum()) == 6
    true = transition("cycle(1.0)", num_classes=100, groups=groups).argmax(1).numpy()
    assert (groups[true] == groups).all()
    assert sorted(true.tolist()) == list(range(100))
