"""Mean and standard deviation per channel, by name: a plain dict you can read."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...grammar import nearest
from .steps import FixedStep, Step, as_float

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
Numbers = float | tuple[float, ...]


def named_constants(step: str, name: str) -> tuple[Channels, Channels]:
    """Mean and deviation; ValueError with the nearest known name."""
    if name not in CONSTANTS:
        raise ValueError(f"{step}: unknown constants {name!r}{nearest(name, list(CONSTANTS))}")
    return CONSTANTS[name]


class Normalize(FixedStep):
    """(x - mean) / std for every channel, of images in 0 ... 1.

    ``normalize(cifar10)`` takes both from the named constants; given numbers take precedence.

    Shape:
        (N, C, H, W) to the same, floating point; one number per channel or one for all
    Example:
        >>> Normalize("mnist")(torch.full((1, 1, 1, 1), 255, dtype=torch.uint8))
        tensor([[[[2.8215]]]])
        >>> Normalize(mean=0.5, std=(0.5, 0.25))
        normalize(mean=0.5, std=(0.5, 0.25))
    """

    name = "normalize"

    def __init__(
        self, of: str | None = None, *, mean: Numbers | None = None, std: Numbers | None = None
    ) -> None:
        if of is None and (mean is None or std is None):
            known = ", ".join(CONSTANTS)
            raise ValueError(f"normalize: give mean= and std=, or the name of known ones ({known})")
        known_mean, known_std = (None, None) if of is None else named_constants(self.name, of)
        self.of, self.mean, self.std = of, numbers(self.name, "mean", mean), numbers(self.name, "std", std)
        self._mean = known_mean if self.mean is None else self.mean
        self._std = known_std if self.std is None else self.std
        if any(value <= 0 for value in as_tuple(self._std)):
            raise ValueError(f"normalize: std={std} is out of range, it must be above 0")

    def apply(self, images: Tensor) -> Tensor:
        images = as_float(images)
        return (images - per_channel(self, self._mean, images)) / per_channel(self, self._std, images)


class SubtractMean(FixedStep):
    """x - mean, of images in 0 ... 1: of every channel, or a mean image of the training set.

    A mean image is a tensor (C, H, W) on the device of the images and has no spec string.

    Shape:
        (N, C, H, W) to the same, floating point
    Example:
        >>> SubtractMean(mean=0.25)(torch.ones(1, 1, 1, 1))
        tensor([[[[0.7500]]]])
        >>> SubtractMean("cifar10")
        subtract_mean(cifar10)
    """

    name = "subtract_mean"

    def __init__(self, of: str | None = None, *, mean: Numbers | Tensor | None = None) -> None:
        if of is None and mean is None:
            known = ", ".join(CONSTANTS)
            raise ValueError(f"subtract_mean: give mean=, or the name of a known one ({known})")
        self.of = of
        self.mean = mean if isinstance(mean, Tensor) else numbers(self.name, "mean", mean)
        self._mean = self.mean if self.mean is not None else named_constants(self.name, str(of))[0]

    def apply(self, images: Tensor) -> Tensor:
        images = as_float(images)
        if isinstance(self._mean, Tensor):
            if self._mean.shape != images.shape[1:]:
                raise ValueError(
                    f"{self}: the mean image must have the shape of the images, {tuple(images.shape[1:])}"
                )
            return images - self._mean.to(images.dtype)
        return images - per_channel(self, self._mean, images)


def per_channel(step: Step, values: Numbers | None, images: Tensor) -> Tensor | float:
    """One number, or a tensor (C, 1, 1) made on the device without a copy from the host."""
    known = as_tuple(values)
    if len(known) == 1:
        return known[0]
    if len(known) != images.shape[1]:
        raise ValueError(f"{step} is for {len(known)} channels, the images have {images.shape[1]}")
    one = [torch.full((1, 1, 1), value, dtype=images.dtype, device=images.device) for value in known]
    return torch.cat(one)


def as_tuple(values: Numbers | None) -> tuple[float, ...]:
    return values if isinstance(values, tuple) else (0.0 if values is None else values,)


def numbers(step: str, parameter: str, values: object) -> Numbers | None:
    """A finite number, or a tuple of some; None stays None."""
    if values is None:
        return None
    found = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    for value in found:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise TypeError(f"{step}: {parameter} must be a finite number or several, got {value!r}")
    return tuple(map(float, found)) if isinstance(values, (tuple, list)) else float(found[0])
