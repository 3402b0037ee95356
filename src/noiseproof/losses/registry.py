"""Losses by name: a plain dict, filled in ``losses/__init__.py``."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..grammar import check_new
from .base import Loss, Outer
from .spec import parse

LOSSES: dict[str, Callable[..., Loss]] = {}
BUILT_IN: set[str] = set()
"""Names of the library's losses, which users cannot register."""


def get(
    spec: str | Loss,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    weight: Tensor | None = None,
) -> Loss:
    """The loss of a spec string; a Loss is returned as it is, or as a copy with the given settings.

    Settings left at their defaults do not change a Loss that has others.

    Example:
        >>> get("10*nce + 0.1*agce(a=1.8, q=3)")
        10*nce + 0.1*agce(a=1.8, q=3.0)
        >>> get("gcee")
        Traceback (most recent call last):
        ValueError: unknown loss 'gcee', did you mean 'gce'? (known: ...
    """
    if not isinstance(spec, (str, Loss)):
        raise TypeError(f"spec must be a string or a Loss, got {type(spec).__name__}")
    loss = spec if isinstance(spec, Loss) else parse(spec, LOSSES)
    settings: Outer = {}
    if reduction != "mean":
        settings["reduction"] = reduction
    if ignore_index != -100:
        settings["ignore_index"] = ignore_index
    if weight is not None:
        settings["weight"] = weight
    return loss.replace(**settings) if settings else loss


def part_of(whole: str, spec: Loss | str) -> Loss:
    """The part of a loss named ``whole``; it must not have its own reduction, ignore_index or weight.

    Example:
        >>> from noiseproof import losses
        >>> part_of("scale", losses.MAE(ignore_index=0))
        Traceback (most recent call last):
        ValueError: mae inside scale has its own ignore_index, ... pass ignore_index to scale
    """
    part = get(spec)
    differs = {
        "reduction": part.reduction != "mean",
        "ignore_index": part.ignore_index != -100,
        "weight": part.weight is not None,
    }
    if own := ", ".join(name for name, is_set in differs.items() if is_set):
        raise ValueError(
            f"{part} inside {whole} has its own {own}, but only the outermost loss applies reduction,"
            f" ignore_index and weight: pass {own} to {whole}"
        )
    return part


def register(name: str, factory: Callable[..., Loss]) -> None:
    """Make ``factory`` available under ``name`` in spec strings.

    Names of the library's losses raise an error; registering another name again replaces its factory.
    """
    check_new("loss", name, factory, BUILT_IN)
    LOSSES[name] = factory
