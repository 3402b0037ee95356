"""Augmentations of pixel values: normalisation, subtraction of the mean, and colour jitter."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...counter import lower_below, mix, upper_below
from ...grammar import nearest
from .steps import FixedStep, RandomStep, Step, as_float

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
"""Mean and standard deviation per channel: statistics of all pixels of the training set, as in the code of
APL; ``_nal``: those in the code of NAL and SELC, whose CIFAR-10 deviations are means over single images."""
UNIT = 1 << 24
"""Random factors in steps of 2**-24, exact in float32."""
Numbers = float | tuple[float, ...]


def named_constants(step: str, name: str) -> tuple[Channels, Channels]:
    """Mean and deviation; ValueError with the nearest known name."""
    if name not in CONSTANTS:
        raise ValueError(f"{step}: unknown constants {name!r}{nearest(name, list(CONSTANTS))}")
    return CONSTANTS[name]


class Normalize(FixedStep):
    """(x - mean) / std for every channel, of images in 0 ... 1.

    ``normalize(cifar10)`` uses named constants; given numbers take precedence.

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
            raise ValueError(f"normalize: give mean= and std=, or the name of constants ({known})")
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
            raise ValueError(f"subtract_mean: give mean=, or the name of constants ({known})")
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


class Jitter(RandomStep):
    """Random brightness, contrast and saturation by factors in 1 - x ... 1 + x, and hue up to ``hue`` turns.

    Applied in this order, with values clipped to 0 ... 1 after each; torchvision's ColorJitter shuffles the
    order and rotates the hue in HSV, here colours are rotated about the grey axis. For images of one channel,
    saturation and hue are ignored.

    Shape:
        (N, C, H, W) in 0 ... 1 to the same, floating point
    Example:
        >>> Jitter(hue=0.2)(torch.full((1, 3, 1, 1), 0.5), index=torch.zeros(1, dtype=torch.int64)).shape
        torch.Size([1, 3, 1, 1])
    """

    name = "jitter"
    stream = 5

    def __init__(
        self, *, brightness: float = 0.4, contrast: float = 0.4, saturation: float = 0.4, hue: float = 0.0
    ) -> None:
        given = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
        for parameter, value in given.items():
            limit = 0.5 if parameter == "hue" else 1.0
            if isinstance(value, tuple) or not 0 <= (numbers(self.name, parameter, value) or 0.0) <= limit:  # type: ignore[operator]
                raise ValueError(f"jitter: {parameter}={value} is out of range, it must be in 0 ... {limit}")
        self.brightness, self.contrast, self.saturation, self.hue = map(float, given.values())

    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        images, more = as_float(images), mix(bits)
        parts = (
            upper_below(bits, UNIT),
            lower_below(bits, UNIT),
            upper_below(more, UNIT),
            lower_below(more, UNIT),
        )
        draws = [(2 * part.to(images.dtype) / (UNIT - 1) - 1)[:, None, None, None] for part in parts]
        images = (images * (1 + self.brightness * draws[0])).clamp(0, 1)
        images = blended(images, grey(images).mean((2, 3), keepdim=True), 1 + self.contrast * draws[1])
        if images.shape[1] != 3:
            return images
        images = blended(images, grey(images), 1 + self.saturation * draws[2])
        return rotated_hue(images, 2 * math.pi * self.hue * draws[3]) if self.hue else images

    def evaluation(self) -> Step | None:
        return None


def grey(images: Tensor) -> Tensor:
    """Luminance (N, 1, H, W); of other than three channels the mean."""
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True)
    red, green, blue = images.unbind(1)
    return (0.299 * red + 0.587 * green + 0.114 * blue).unsqueeze(1)


def blended(images: Tensor, base: Tensor, factor: Tensor) -> Tensor:
    return (base + factor * (images - base)).clamp(0, 1)


def rotated_hue(images: Tensor, angle: Tensor) -> Tensor:
    """Rotate colours about the grey axis; a third of a turn maps red to green, green to blue, blue to red.

    Example:
        >>> red = torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1)
        >>> rotated_hue(red, torch.tensor(2 * math.pi / 3)).flatten().round(decimals=6)
        tensor([0., 1., 0.])
    """
    middle = images.mean(1, keepdim=True)
    across = (images.roll(1, 1) - images.roll(-1, 1)) / math.sqrt(3)
    return (middle + angle.cos() * (images - middle) + angle.sin() * across).clamp(0, 1)


def per_channel(step: Step, values: Numbers | None, images: Tensor) -> Tensor | float:
    """One number, or a tensor (C, 1, 1) created on the device without a copy from the host."""
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
