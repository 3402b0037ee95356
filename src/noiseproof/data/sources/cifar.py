"""CIFAR-10, CIFAR-100, their human labels (CIFAR-N), and the vehicles of CIFAR-100."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..labelled import LabelledData
from ..locations import check_split, find_files
from ..numpy_files import read_npz
from ..safe_pickle import read_plain_pickle

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}
SUPERCLASSES: dict[str, tuple[str, ...]] = {
    "aquatic_mammals": ("beaver", "dolphin", "otter", "seal", "whale"),
    "fish": ("aquarium_fish", "flatfish", "ray", "shark", "trout"),
    "flowers": ("orchid", "poppy", "rose", "sunflower", "tulip"),
    "food_containers": ("bottle", "bowl", "can", "cup", "plate"),
    "fruit_and_vegetables": ("apple", "mushroom", "orange", "pear", "sweet_pepper"),
    "household_electrical_devices": ("clock", "keyboard", "lamp", "telephone", "television"),
    "household_furniture": ("bed", "chair", "couch", "table", "wardrobe"),
    "insects": ("bee", "beetle", "butterfly", "caterpillar", "cockroach"),
    "large_carnivores": ("bear", "leopard", "lion", "tiger", "wolf"),
    "large_man-made_outdoor_things": ("bridge", "castle", "house", "road", "skyscraper"),
    "large_natural_outdoor_scenes": ("cloud", "forest", "mountain", "plain", "sea"),
    "large_omnivores_and_herbivores": ("camel", "cattle", "chimpanzee", "elephant", "kangaroo"),
    "medium_mammals": ("fox", "porcupine", "possum", "raccoon", "skunk"),
    "non-insect_invertebrates": ("crab", "lobster", "snail", "spider", "worm"),
    "people": ("baby", "boy", "girl", "man", "woman"),
    "reptiles": ("crocodile", "dinosaur", "lizard", "snake", "turtle"),
    "small_mammals": ("hamster", "mouse", "rabbit", "shrew", "squirrel"),
    "trees": ("maple_tree", "oak_tree", "palm_tree", "pine_tree", "willow_tree"),
    "vehicles_1": ("bicycle", "bus", "motorcycle", "pickup_truck", "train"),
    "vehicles_2": ("lawn_mower", "rocket", "streetcar", "tank", "tractor"),
}
CIFAR100_CLASSES: tuple[str, ...] = tuple(sorted(name for names in SUPERCLASSES.values() for name in names))
GROUPS: tuple[int, ...] = tuple(
    next(number for number, names in enumerate(SUPERCLASSES.values()) if name in names)
    for name in CIFAR100_CLASSES
)
"""Superclass of each class, in the official order above."""
PIXELS = 3 * 32 * 32
KINDS = dict.fromkeys(("aggre", "random1", "random2", "random3", "worse"), "cifar10") | {"noisy": "cifar100"}
"""Dataset of each kind of labels."""
VEHICLES = SUPERCLASSES["vehicles_1"] + SUPERCLASSES["vehicles_2"]


def cifar10(*, root: Path, split: str = "train") -> LabelledData:
    """CIFAR-10: 50,000 training and 10,000 test images, uint8 (3, 32, 32), in the official order.

    Reads .bin files, Python batches or ``cifar10.npz``.

    Reference:
        Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009
    """
    check_split("cifar10", split)
    names = BATCHES[split]
    choices = [[f"{name}.bin" for name in names], ["cifar10.npz"], names]
    found = find_files("cifar10", root, choices, ["cifar-10-batches-bin", "cifar-10-batches-py"])
    parts = [_read(path, [f"x_{split}", f"y_{split}"], ["labels"]) for path in found]
    for path, (_, labels) in zip(found, parts, strict=True):
        check_labels(path, labels, [len(CIFAR10_CLASSES)])
    images = np.concatenate([images for images, _ in parts])
    label = np.concatenate([labels for _, labels in parts])[:, 0]
    pixels = torch.from_numpy(images)
    return LabelledData(pixels, label, clean_label=label, class_names=CIFAR10_CLASSES, name="cifar10")


def cifar100(*, root: Path, split: str = "train") -> LabelledData:
    """Images as uint8 (3, 32, 32) with fine labels, from .bin, Python batches or ``cifar100.npz``.

    ``groups`` is the superclass of each class, and must agree with the coarse labels in the files. The
    official training set repeats 14 images, 9 of them under another label, the test set 2 and 2; there is no
    warning of these, ``find_duplicates`` lists them.

    Reference:
        Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009
    """
    check_split("cifar100", split)
    choices = [[f"{split}.bin"], ["cifar100.npz"], [split]]
    (path,) = find_files("cifar100", root, choices, ["cifar-100-binary", "cifar-100-python"])
    arrays = [f"x_{split}", f"y_{split}_coarse", f"y_{split}"]
    images, labels = _read(path, arrays, ["coarse_labels", "fine_labels"])
    check_labels(path, labels, [len(SUPERCLASSES), len(CIFAR100_CLASSES)])
    coarse, fine = labels.T
    _check_superclasses(path, coarse, fine)
    pixels = torch.from_numpy(np.array(images))
    return LabelledData(
        pixels,
        fine,
        clean_label=fine,
        class_names=CIFAR100_CLASSES,
        groups=GROUPS,
        name="cifar100",
        duplicates="ignore",
    )


def _read(path: Path, arrays: Sequence[str], keys: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Images, and labels with one column per key."""
    if path.suffix == ".bin":
        return read_binary(path, len(keys))
    return read_arrays(path, arrays) if path.suffix == ".npz" else read_python(path, keys)


def _check_superclasses(path: Path, coarse: NDArray[Any], fine: NDArray[Any]) -> None:
    wrong = np.array(GROUPS)[fine] != coarse
    if wrong.any():
        row = int(wrong.argmax())
        expected = GROUPS[int(fine[row])]
        raise ValueError(
            f"{path}: record {row} is a {CIFAR100_CLASSES[int(fine[row])]} of superclass {coarse[row]},"
            f" but that class belongs to superclass {expected}: the file is damaged"
        )


def read_binary(path: Path, label_bytes: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read records of label bytes and 3,072 pixels: images (N, 3, 32, 32) and labels (N, label_bytes)."""
    record = label_bytes + PIXELS
    length = path.stat().st_size
    if length == 0 or length % record:
        raise ValueError(f"{path} has {length} bytes, not a multiple of {record}: download it again")
    rows = np.fromfile(path, np.uint8).reshape(-1, record)
    return rows[:, label_bytes:].reshape(-1, 3, 32, 32), rows[:, :label_bytes]


def read_python(path: Path, label_keys: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Read images and labels from a Python batch, without unpickling."""
    found = read_plain_pickle(path)
    images = found.get("data")
    if not (isinstance(images, np.ndarray) and images.dtype == np.uint8 and images.shape[1:] == (PIXELS,)):
        raise ValueError(f"{path} has no uint8 array 'data' of shape (N, {PIXELS})")
    columns = []
    for key in label_keys:
        labels = found.get(key)
        if not isinstance(labels, list) or len(labels) != len(images):
            raise ValueError(f"{path} has no list {key!r} of {len(images)} labels")
        if not all(isinstance(label, int) for label in labels):
            raise ValueError(f"{path}: {key!r} must contain only whole numbers")
        columns.append(np.array(labels, np.int64))
    return images.reshape(-1, 3, 32, 32), np.stack(columns, 1)


def read_arrays(path: Path, keys: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Read images (N, 32, 32, 3), by the first key, and labels from an .npz file."""
    images, *labels = read_npz(path, keys)
    if images.dtype != np.uint8 or images.shape[1:] != (32, 32, 3):
        raise ValueError(f"{path}: {keys[0]} is {images.dtype} {images.shape}, expected uint8 (N, 32, 32, 3)")
    for key, column in zip(keys[1:], labels, strict=True):
        if column.shape != (len(images),):
            raise ValueError(f"{path}: {key} has shape {column.shape}, expected ({len(images)},)")
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)), np.stack(labels, 1)


def check_labels(path: Path, labels: NDArray[Any], classes: Sequence[int]) -> None:
    """ValueError if a label is not below the number of classes of its column."""
    for column, count in zip(labels.T, classes, strict=True):
        invalid = (column < 0) | (column >= count)
        if invalid.any():
            row = int(invalid.argmax())
            raise ValueError(f"{path}: record {row} has label {column[row]}, which is not below {count}")


def cifar_n(*, root: Path, split: str = "train", kind: str = "worse") -> LabelledData:
    """CIFAR with human labels, and the official labels as clean labels; test data are those of CIFAR.

    ``aggre``, ``random1`` to ``random3`` and ``worse`` are CIFAR-10N, ``noisy`` is CIFAR-100N. Reads
    ``cifar_n.npz`` with arrays such as cifar10_clean and cifar10_worse in the official order of CIFAR; its
    clean labels must equal those of the dataset, which verifies the order.

    Reference:
        Wei et al., Learning with Noisy Labels Revisited, ICLR 2022
    """
    check_split("cifar_n", split)
    if kind not in KINDS:
        raise ValueError(f"cifar_n: kind={kind!r} is unknown, choose one of {', '.join(KINDS)}")
    name = KINDS[kind]
    data = (cifar10 if name == "cifar10" else cifar100)(root=root, split=split)
    if split == "test":
        return data
    (path,) = find_files("cifar_n", root, [["cifar_n.npz"]])
    clean, human = read_npz(path, [f"{name}_clean", f"{name}_{kind}"])
    differ = len(data) if clean.shape != (len(data),) else int((data.label.numpy() != clean).sum())
    if differ:
        raise ValueError(
            f"{path}: {name}_clean, of shape {clean.shape}, differs from the labels of {name} in {differ} of"
            f" {len(data)} samples: the human labels are in another order"
        )
    return LabelledData(
        data.inputs,
        human,
        clean_label=data.label,
        class_names=data.class_names,
        groups=data.groups,
        name=f"cifar_n_{kind}",
        duplicates="ignore",
    )


def vehicles10(*, root: Path, split: str = "train") -> LabelledData:
    """The vehicles of CIFAR-100: 5,000 training and 1,000 test images, uint8 (3, 32, 32).

    Classes are numbered 0 to 9 in the order bicycle, bus, motorcycle, pickup_truck, train, lawn_mower,
    rocket, streetcar, tank, tractor; ``groups`` are vehicles 1 and vehicles 2; samples are renumbered.

    Reference:
        Wang et al., Emphasis Regularisation by Gradient Rescaling, Table 9
    """
    whole = cifar100(root=root, split=split)
    number = torch.full((len(CIFAR100_CLASSES),), -1)
    number[[CIFAR100_CLASSES.index(name) for name in VEHICLES]] = torch.arange(len(VEHICLES))
    label = number[whole.label]
    chosen = label >= 0
    pixels = whole.subset(chosen).batch(slice(None)).input
    return LabelledData(
        pixels,
        label[chosen],
        clean_label=label[chosen],
        class_names=VEHICLES,
        groups=[0] * 5 + [1] * 5,
        name="vehicles10",
    )
