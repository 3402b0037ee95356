"""A simulated record, for examples and tests."""

from __future__ import annotations

import torch

from ..dynamics import Record


def example_record(
    samples: int = 400,
    epochs: int = 12,
    *,
    classes: int = 4,
    wrong: float = 0.3,
    seed: int = 0,
    known: bool = True,
) -> Record:
    """A simulated record for examples and tests: right labels are learned early, wrong labels slowly.

    Example:
        >>> example_record()
        Record(12 epochs of 400 samples, 4 classes)
    """
    generator = torch.Generator().manual_seed(seed)
    clean = torch.randint(classes, (samples,), generator=generator)
    flipped = torch.rand(samples, generator=generator) < wrong
    label = torch.where(flipped, (clean + 1) % classes, clean)
    time = torch.linspace(0, 1, epochs).unsqueeze(1)
    goal = torch.where(flipped, -5 + 7 * time**2, -1 + 5 * time**0.5)
    margin = (
        goal
        + torch.randn(epochs, samples, generator=generator) * 0.6
        + torch.randn(samples, generator=generator)
    )
    prediction = torch.where(margin > 0, label, torch.where(flipped, clean, (clean + 2) % classes))
    return Record(
        index=torch.arange(samples),
        label=label,
        clean_label=clean if known else None,
        class_names=tuple(f"class {number}" for number in range(classes)),
        margin=margin.half(),
        prediction=prediction.int(),
    )
