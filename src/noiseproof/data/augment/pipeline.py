"""Steps one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from .base import FixedStep, Step, as_float, check_images

REPEAT = 1 << 40
"""Distance between the seeds of a step and of its next occurrence, so that flip | flip flips twice."""


class Augmentation:
    """Steps one after the other; the result is floating point, uint8 divided by 255.

    The view of a sample is a pure function of (seed, epoch, sample): it does not depend on the other
    samples of the batch, their order, the number of workers or processes, or the device. Global random
    state is neither read nor changed. Own steps are callables of the same keywords.

    Shape:
        images (N, C, H, W) uint8 or floating point, index (N,) int64, epoch an int or 0-dimensional tensor
    """

    def __init__(self, steps: Sequence[Callable[..., Tensor]]) -> None:
        for step in steps:
            if not callable(step):
                raise TypeError(f"a step must be callable, got {step!r}")
        self.steps = tuple(steps)
        kinds = [type(step) if isinstance(step, Step) else step for step in steps]
        self._repeats = tuple(kinds[:place].count(kind) for place, kind in enumerate(kinds))

    def __call__(
        self, images: Tensor, *, seed: int = 0, epoch: int | Tensor = 0, index: Tensor | None = None
    ) -> Tensor:
        check_images(images)
        for step, repeat in zip(self.steps, self._repeats, strict=True):
            images = step(images, seed=seed + repeat * REPEAT, epoch=epoch, index=index)
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
