"""Mean and standard deviation per channel, by name: a plain dict you can read."""

from __future__ import annotations

from ...grammar import nearest

Channels = tuple[float, ...]

CONSTANTS: dict[str, tuple[Channels, Channels]] = {
    "mnist": ((0.1307,), (0.3081,)),
    "cifar10": ((0.49139968, 0.48215827, 0.44653124), (0.24703233, 0.24348505, 0.26158768)),
    "cifar10_nal": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    "cifar100_nal": ((0.507, 0.487, 0.441), (0.267, 0.256, 0.276)),
    "clothing1m": ((0.6959, 0.6537, 0.6371), (0.3113, 0.3192, 0.3214)),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
"""Plain names: statistics of all pixels of the training set, as in the code of APL. ``_nal``: the numbers in
the code of NAL and SELC; their CIFAR-10 deviations are means over single images, a fifth smaller."""


def named_constants(step: str, name: str) -> tuple[Channels, Channels]:
    """Mean and deviation; ValueError with the nearest known name."""
    if name not in CONSTANTS:
        raise ValueError(f"{step}: unknown constants {name!r}{nearest(name, list(CONSTANTS))}")
    return CONSTANTS[name]
