"""Losses that others are made of."""

from __future__ import annotations

from .base import Loss


def part_of(whole: str, spec: Loss | str) -> Loss:
    """The part of a loss that is named ``whole``; settings of its own would be lost, so it has none.

    Example:
        >>> from noiseproof import losses
        >>> part_of("scale", losses.MAE(ignore_index=0))
        Traceback (most recent call last):
        ValueError: mae inside scale has ignore_index of its own, ... give ignore_index to scale
    """
    part = Loss.of(spec)
    if own := _own_settings(part):
        raise ValueError(
            f"{part} inside {whole} has {own} of its own, but only the outermost loss reduces, ignores and"
            f" weights: give {own} to {whole}"
        )
    return part


def _own_settings(loss: Loss) -> str:
    """Those that are not the defaults, as words."""
    found = {
        "reduction": loss.reduction != "mean",
        "ignore_index": loss.ignore_index != -100,
        "weight": loss.weight is not None,
    }
    return ", ".join(name for name, differs in found.items() if differs)
