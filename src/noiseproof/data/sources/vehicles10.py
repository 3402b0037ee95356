"""Vehicles-10: the ten vehicle classes of CIFAR-100."""

from __future__ import annotations

from pathlib import Path

import torch

from ..labelled import LabelledData
from .cifar100 import cifar100
from .cifar100_classes import CLASSES, SUPERCLASSES

VEHICLES = SUPERCLASSES["vehicles_1"] + SUPERCLASSES["vehicles_2"]


def vehicles10(*, root: Path, split: str = "train") -> LabelledData:
    """5,000 training and 1,000 test images, uint8 (3, 32, 32), from the files of cifar100.

    Classes are numbered 0 to 9 in the order bicycle, bus, motorcycle, pickup_truck, train, lawn_mower,
    rocket, streetcar, tank, tractor; ``groups`` are vehicles 1 and vehicles 2; samples are numbered anew.

    Reference:
        Wang et al., Emphasis Regularisation by Gradient Rescaling, Table 9
    """
    whole = cifar100(root=root, split=split)
    number = torch.full((len(CLASSES),), -1)
    number[[CLASSES.index(name) for name in VEHICLES]] = torch.arange(len(VEHICLES))
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
