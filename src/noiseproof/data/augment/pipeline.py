"""Steps one after the other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from torch import Tensor

from .base import FixedStep, RandomStep, Step, as_float, check_images

OWN_REPEAT = 1 << 40
"""Distance between the seeds of an own step and of its next occurrence: it has no other random numbers."""


class Augmentation:
    """Steps one after the other; the result is floating point, uint8 divided by 255.

    The view of a sample is a pure function of (seed, epoch, sample): it does not depend on the other
    samples of the batch, their order, the number of workers or processes, or the device. Global random
    state is neither read nor changed. Own steps are callables of the same keywords; one that occurs again
    gets another seed, where the steps of this library draw from another stream of the same seed.

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
        self._own_repeats = tuple(
            0 if isinstance(step, RandomStep) else repeat for step, repeat in zip(steps, repeats, strict=True)
        )

    def __call__(
        self, images: Tensor, *, seed: int = 0, epoch: int | Tensor = 0, index: Tensor | None = None
    ) -> Tensor:
        check_images(images)
        for step, repeat in zip(self.steps, self._own_repeats, strict=True):
            images = step(
                images, seed=seed + repeat * OWN_REPEAT if repeat else seed, epoch=epoch, index=index
            )
        return as_float(images)

    @property
    def is_random(self) -> bool:
        return not all(isinstance(step, FixedStep) for step in self.steps)

    def evaluation(self) -> Augmentation:
        """The same for test images: only what is deterministic; own steps are taken to be random."""
        found = [step.evaluation() for step in self.steps if isinstance(step, Step)]
        return Augmentation([step for step in found if step is not None])

    def __str__(self) -> str:
        return " | ".join(str(step) for step in self.steps) or "none"

    __repr__ = __str__


def _repeated(step: Callable[..., Tensor], repeat: int) -> Callable[..., Tensor]:
    """The step itself, or a copy that knows how many of its kind came before."""
    if not isinstance(step, RandomStep) or step.repeat == repeat:
        return step
    again = copy.copy(step)
    again.repeat = repeat
    return again
