"""The papers' words for data and networks in the words of the library."""

from __future__ import annotations

from .record import Record

DATA = {"MNIST": "mnist", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "Vehicles-10": "vehicles10"}
NETWORKS = {
    "4-layer CNN": "cnn4",
    "8-layer CNN": "cnn8",
    "ResNet-20": "resnet20",
    "ResNet-34": "resnet34",
    "ResNet-44": "resnet44",
    "ResNet-56": "resnet56",
    "GoogLeNet V1": "googlenet",
}
CONSTANTS = {"MNIST": "mnist", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "Vehicles-10": "cifar100"}
"""Mean and deviation that inputs are normalised with."""
HUMAN = {"CIFAR-10": 'cifar_n(kind="worse")', "CIFAR-100": 'cifar_n(kind="noisy")'}
"""CIFAR under the labels people gave: "worst" of CIFAR-10N, "fine" of CIFAR-100N."""


def subject(record: Record) -> dict[str, str]:
    """Data and network of a record as settings."""
    data = HUMAN[record.dataset] if record.noise == "human" else DATA[record.dataset]
    return {"data": data, "model": NETWORKS[record.network]}


def cropped(record: Record) -> str:
    """Padded by 4 pixels, cropped at random, mirrored at random."""
    return f"crop(padding=4) | flip | normalize({CONSTANTS[record.dataset]})"


def shifted(record: Record, by: str = "width=0.125, height=0.125") -> str:
    """Moved at random, mirrored at random; MNIST is only normalised."""
    moved = "" if record.dataset == "MNIST" else f"shift({by}) | flip | "
    return f"{moved}normalize({CONSTANTS[record.dataset]})"
