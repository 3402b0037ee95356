"""The digits of scikit-learn."""

import numpy as np
import torch
from sklearn.datasets import load_digits

from noiseproof.data import load


def test_split_sizes_and_values():
    train, test = load("digits"), load("digits", split="test")
    assert (len(train), len(test)) == (1400, 397)
    assert train.sample_shape == (1, 8, 8)
    assert train.inputs.dtype == torch.float32
    assert (float(train.inputs.min()), float(train.inputs.max())) == (0.0, 1.0)
    assert torch.equal(train.label, train.clean_label)
    assert int(test.label.bincount(minlength=10).min()) >= 20


def test_splits_are_a_partition_of_all_digits():
    parts = [load("digits", split=split).inputs.reshape(-1, 64) for split in ("train", "test")]
    rows = torch.cat(parts).mul(16).numpy().astype(int)
    assert sorted(map(tuple, rows)) == sorted(map(tuple, load_digits().data.astype(int)))


def test_order_is_fixed():
    assert load("digits").label[:12].tolist() == FIRST_LABELS
    assert (load("digits").inputs.numpy() == load("digits").inputs.numpy()).all()
    assert np.isfinite(load("digits").inputs.numpy()).all()


FIRST_LABELS = [1, 3, 9, 2, 1, 8, 8, 8, 0, 1, 9, 1]
