"""CIFAR-100 in its three forms, its superclasses, and Vehicles-10."""

import numpy as np
import pytest
import tiny_cifar as tiny

from noiseproof.data import load
from noiseproof.data.sources.cifar import CIFAR100_CLASSES, GROUPS, SUPERCLASSES

FINE = list(range(100))
OFFICIAL_GROUPS = (
    "4 1 14 8 0 6 7 7 18 3 3 14 9 18 7 11 3 9 7 11 "
    "6 11 5 10 7 6 13 15 3 15 0 11 1 10 12 14 16 9 11 5 "
    "5 19 8 8 15 13 14 17 18 10 16 4 17 4 2 0 17 4 18 17 "
    "10 3 2 12 12 16 12 1 9 19 2 10 0 1 16 12 9 13 15 13 "
    "16 19 2 4 6 19 5 5 8 19 18 1 2 15 6 0 17 8 14 13"
)


def written(root, form, split="train", coarse=GROUPS):
    pixels = tiny.images(100)
    if form == "binary":
        tiny.write_binary(root / "cifar-100-binary" / f"{split}.bin", pixels, coarse, FINE)
    elif form == "python":
        folder = root / "cifar100" / "cifar-100-python"
        tiny.write_python(folder / split, pixels, fine_labels=FINE, coarse_labels=coarse)
    else:
        arrays = {f"x_{split}": tiny.as_npz(pixels), f"y_{split}": FINE, f"y_{split}_coarse": coarse}
        np.savez(root / "cifar100.npz", **arrays)
    return tiny.as_batch(pixels)


def test_superclasses_match_the_official_ones():
    assert " ".join(map(str, GROUPS)) == OFFICIAL_GROUPS
    assert len(set(CIFAR100_CLASSES)) == 100
    assert len(SUPERCLASSES) == 20
    assert np.bincount(GROUPS).tolist() == [5] * 20


@pytest.mark.parametrize("form", ["binary", "python", "npz"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_file_formats(form, split, tmp_path):
    expected = written(tmp_path, form, split)
    data = load("cifar100", root=tmp_path, split=split)
    assert (data.inputs.numpy() == expected).all()
    assert data.label.tolist() == FINE
    assert data.groups.tolist() == list(GROUPS)
    assert data.class_names[:2] == ("apple", "aquarium_fish")


def test_inconsistent_coarse_labels_are_refused(tmp_path):
    coarse = list(GROUPS)
    coarse[8] = 3
    written(tmp_path, "binary", coarse=coarse)
    with pytest.raises(
        ValueError, match="record 8 is a bicycle of superclass 3, but that class belongs to superclass 18"
    ):
        load("cifar100", root=tmp_path)


def test_vehicles10(tmp_path):
    expected = written(tmp_path, "binary")
    data = load("vehicles10", root=tmp_path)
    assert len(data) == 10
    names = "bicycle bus motorcycle pickup_truck train lawn_mower rocket streetcar tank tractor"
    assert " ".join(data.class_names) == names
    assert data.groups.tolist() == [0] * 5 + [1] * 5
    assert data.index.tolist() == list(range(10))
    for image, label in zip(data.inputs.numpy(), data.label.tolist(), strict=True):
        assert (image == expected[CIFAR100_CLASSES.index(data.class_names[label])]).all()
