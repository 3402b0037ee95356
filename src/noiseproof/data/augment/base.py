"""What a step of augmentation is: fixed, or random in the sample alone."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from ...counter import draw

REPEAT = 1 << 32
"""Distance between the streams of a step and of its next occurrence, so that flip | flip flips twice."""


class Step(ABC):
    """A map of whole batches of images.

    Shape:
        images (N, C, H, W), uint8 in 0 ... 255 or floating point; geometric steps keep the dtype, the
        others give floating point, uint8 divided by 255.
    """

    name: str

    @abstractmethod
    def __call__(
        self, images: Tensor, *, seed: int = 0, epoch: int | Tensor = 0, index: Tensor | None = None
    ) -> Tensor: ...

    @abstractmethod
    def evaluation(self) -> Step | None:
        """What takes the place of this step on test images."""

    def __str__(self) -> str:
        values = []
        for parameter in inspect.signature(type(self)).parameters.values():
            value = getattr(self, parameter.name)
            if value is not None:
                shown = f"<tensor of {tuple(value.shape)}>" if isinstance(value, Tensor) else repr(value)
                is_word = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
                values.append(value if is_word else f"{parameter.name}={shown}")
        return f"{self.name}({', '.join(values)})" if values else self.name

    __repr__ = __str__


class FixedStep(Step):
    """A step without randomness: test images get the same."""

    @abstractmethod
    def apply(self, images: Tensor) -> Tensor:
        """The changed images."""

    def __call__(
        self, images: Tensor, *, seed: int = 0, epoch: int | Tensor = 0, index: Tensor | None = None
    ) -> Tensor:
        check_images(images)
        return self.apply(images)

    def evaluation(self) -> Step | None:
        return self


class RandomStep(Step):
    """A step that depends on nothing but the images and (seed, epoch, sample)."""

    stream: int
    """Number of its own random numbers."""
    repeat: int = 0
    """How many steps of the same kind come before it in an augmentation."""

    @abstractmethod
    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        """The images changed as the 64 random bits of every sample say."""

    def __call__(
        self, images: Tensor, *, seed: int = 0, epoch: int | Tensor = 0, index: Tensor | None = None
    ) -> Tensor:
        check_images(images)
        if index is None:
            raise ValueError(f"{self} is random: say which samples these are with index=")
        if not isinstance(index, Tensor):
            raise TypeError(f"index must be a tensor of one whole number per image, got {index!r}")
        if index.shape != images.shape[:1] or index.is_floating_point():
            raise ValueError(
                f"index must hold one whole number per image, ({len(images)},), got {tuple(index.shape)}"
                f" of {index.dtype}"
            )
        stream = self.stream + self.repeat * REPEAT
        return self.apply(images, draw(seed=seed, epoch=epoch, index=index.long(), stream=stream))

    def evaluation(self) -> Step | None:
        return None


def check_images(images: object) -> None:
    if not isinstance(images, Tensor):
        raise TypeError(f"images must be a tensor of shape (N, C, H, W), got a {type(images).__name__}")
    if images.dim() != 4:
        raise ValueError(f"images must have shape (N, C, H, W), got {tuple(images.shape)}")
    if not (images.is_floating_point() or images.dtype == torch.uint8):
        raise TypeError(f"images must be uint8 or floating point, got {images.dtype}")


def as_float(images: Tensor) -> Tensor:
    """uint8 becomes float32 in 0 ... 1, floating point stays as it is."""
    return images if images.is_floating_point() else images.float() / 255


def whole(step: str, parameter: str, value: object, *, least: int, most: int = 1 << 16) -> int:
    """``value`` if it is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{step}: {parameter} must be a whole number, got {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{step}: {parameter}={value} is out of range, it must be in {least} ... {most}")
    return value
