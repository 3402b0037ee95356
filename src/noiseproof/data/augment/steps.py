"""Base classes of augmentation steps, and ``Augmentation``, a sequence of steps."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ...counter import draw

REPEAT = 1 << 32
"""Distance between the streams of repeated steps, so that flip | flip uses different random numbers."""
USER_REPEAT = 1 << 40
"""Distance between the seeds of repeated steps of the user."""


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
        """The step that replaces this one on test images; None leaves it out."""

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
    """A deterministic step, which is also applied to test images."""

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
    """A random step, a function of the images and (seed, epoch, sample)."""

    stream: int
    """Number of its stream of random numbers."""
    repeat: int = 0
    """Number of steps of the same kind before it in an augmentation."""

    @abstractmethod
    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        """Augment the images by 64 random bits of every sample."""

    def __call__(
        self, images: Tensor, *, seed: int = 0, epoch: int | Tensor = 0, index: Tensor | None = None
    ) -> Tensor:
        check_images(images)
        if index is None:
            raise ValueError(f"{self} is random: pass the sample numbers, index=...")
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
    """Convert uint8 to float32 in 0 ... 1; floating-point images are returned unchanged."""
    return images if images.is_floating_point() else images.float() / 255


def checked_int(step: str, parameter: str, value: object, *, minimum: int, maximum: int = 1 << 16) -> int:
    """``value``; TypeError or ValueError unless it is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{step}: {parameter} must be a whole number, got {value!r}")
    if not minimum <= value <= maximum:
        raise ValueError(
            f"{step}: {parameter}={value} is out of range, it must be in {minimum} ... {maximum}"
        )
    return value


class Augmentation:
    """A sequence of steps; the result is floating point, uint8 divided by 255.

    The augmented image of a sample is a function of (seed, epoch, sample): it does not depend on the other
    samples of the batch, their order, the number of workers or processes, or the device. The global random
    state is neither read nor changed. Steps of the user are callables with the same keywords; a repeated one
    gets another seed, whereas steps of this library use another stream of the same seed.

    Shape:
        images (N, C, H, W) uint8 or floating point, index (N,) int64, epoch an int or 0-dimensional tensor
    """

    def __init__(self, steps: Sequence[Callable[..., Tensor]]) -> None:
        for step in steps:
            if not callable(step):
                raise TypeError(f"a step must be callable, got {step!r}")
        kinds = [type(step) if isinstance(step, Step) else step for step in steps]
        repeats = [kinds[:place].count(kind) for place, kind in enumerate(kinds)]
        self.steps = tuple(map(_repeated, steps, repeats))
        self._user_repeats = tuple(
            0 if isinstance(step, RandomStep) else repeat for step, repeat in zip(steps, repeats, strict=True)
        )

    def __call__(
        self, images: Tensor, *, seed: int = 0, epoch: int | Tensor = 0, index: Tensor | None = None
    ) -> Tensor:
        check_images(images)
        for step, repeat in zip(self.steps, self._user_repeats, strict=True):
            images = step(
                images, seed=seed + repeat * USER_REPEAT if repeat else seed, epoch=epoch, index=index
            )
        return as_float(images)

    @property
    def is_random(self) -> bool:
        return not all(isinstance(step, FixedStep) for step in self.steps)

    def evaluation(self) -> Augmentation:
        """The augmentation of test images, without random steps; steps of the user count as random."""
        found = [step.evaluation() for step in self.steps if isinstance(step, Step)]
        return Augmentation([step for step in found if step is not None])

    def __str__(self) -> str:
        return " | ".join(str(step) for step in self.steps) or "none"

    __repr__ = __str__


def _repeated(step: Callable[..., Tensor], repeat: int) -> Callable[..., Tensor]:
    """The step, or a copy with another ``repeat``."""
    if not isinstance(step, RandomStep) or step.repeat == repeat:
        return step
    copied = copy.copy(step)
    copied.repeat = repeat
    return copied
