"""Human labels, accepted in the official order only."""

import numpy as np
import pytest
import tiny_cifar as tiny

from noiseproof.data import DataMissingError, load
from noiseproof.data.sources.cifar import GROUPS, KINDS

TEN, HUNDRED = np.arange(10), np.arange(100)


@pytest.fixture
def root(tmp_path):
    for seed, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        tiny.write_binary(tmp_path / "cifar10" / f"{name}.bin", tiny.images(10, seed), TEN)
    for split in ("train", "test"):
        tiny.write_binary(tmp_path / "cifar100" / f"{split}.bin", tiny.images(100), GROUPS, HUNDRED)
    return tmp_path


def labels(root, **changes):
    arrays = {"cifar10_clean": np.tile(TEN, 5), "cifar100_clean": HUNDRED}
    for number, (kind, name) in enumerate(KINDS.items()):
        arrays[f"{name}_{kind}"] = np.roll(arrays[f"{name}_clean"], number + 1)
    np.savez(root / "cifar_n.npz", **(arrays | changes))
    return arrays


@pytest.mark.parametrize("kind", list(KINDS))
def test_given_and_clean_labels(kind, root):
    arrays = labels(root)
    data = load(f"cifar_n(kind={kind!r})", root=root)
    assert data.label.tolist() == arrays[f"{KINDS[kind]}_{kind}"].tolist()
    assert data.clean_label.tolist() == arrays[f"{KINDS[kind]}_clean"].tolist()
    assert (data.groups is None) == (kind != "noisy")
    test = load(f"cifar_n(kind={kind!r})", root=root, split="test")
    assert test.label.tolist() == test.clean_label.tolist()


def test_labels_in_another_order_are_refused(root):
    labels(root, cifar10_clean=np.roll(np.tile(TEN, 5), 1))
    with pytest.raises(ValueError, match="differs from the labels of cifar10 in 50 of 50 samples"):
        load("cifar_n", root=root)
    labels(root, cifar10_clean=TEN)
    with pytest.raises(ValueError, match=r"of shape \(10,\), differs"):
        load("cifar_n", root=root)


def test_missing_labels(root):
    with pytest.raises(DataMissingError, match="noiseproof data get cifar_n"):
        load("cifar_n", root=root)
