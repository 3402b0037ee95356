"""Confusion matrices of given and corrected labels."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from noiseproof.methods import confusion, confusions


@settings(deadline=None, max_examples=25)
@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_confusion_matches_scikit_learn(pairs):
    label, clean = torch.tensor(pairs).T
    wanted = confusion_matrix(clean.numpy(), label.numpy(), labels=range(4))
    assert confusion(label, clean, 4).tolist() == wanted.tolist()


def test_confusions_of_noisy_and_corrected_labels():
    class Fixed:
        def corrected_labels(self):
            return torch.tensor([1, 1, 1])

    found = confusions(Fixed(), torch.tensor([0, 0, 0]), torch.tensor([0, 1, 1]), 2)
    assert found.noisy.tolist() == [[1, 0], [2, 0]]
    assert found.corrected.tolist() == [[0, 1], [0, 2]]


def test_invalid_labels_and_shapes_raise_value_error():
    two, three = torch.tensor([0, 1]), torch.tensor([0, 1, 0])
    with pytest.raises(ValueError, match=r"clean_label has the shape \(3,\)"):
        confusion(two, three, 2)
    with pytest.raises(ValueError, match=r"label\[1\] = 1 is not one of the 1 classes"):
        confusion(two, two, 1)
