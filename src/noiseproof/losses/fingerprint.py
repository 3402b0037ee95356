"""What a loss is made of, as a key under which its program is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from .base import Loss

SCALARS = (int, float, str, type(None))
INTERNAL = {*vars(nn.Module()), "_suprema", "_integral", "_memo"}
"""What a module or a loss of this library keeps for itself."""
LIBRARY = __name__.split(".")[0] + "."


def fingerprint(loss: Loss) -> tuple[object, ...] | None:
    """Everything a loss of this library depends on; None if a function or object of the user is part."""
    kind = type(loss)
    if not kind.__module__.startswith(LIBRARY):
        return None
    marks: list[object] = [kind]
    for name, thing in vars(loss).items():
        if name in INTERNAL:
            continue
        if isinstance(thing, SCALARS):
            marks += (name, thing)
        elif isinstance(thing, tuple):
            marks += (name, *thing)
        else:
            return None
    for part in loss.inner:
        inside = fingerprint(part)
        if inside is None:
            return None
        marks.append(inside)
    return tuple(marks)


class Watched(nn.Module):
    """A module that tells when an attribute of any of its kind is set, so that what was found may be kept."""

    def __setattr__(self, name: str, value: Any) -> None:
        _Changes.latest = object()
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        _Changes.latest = object()
        super().__delattr__(name)

    def register_buffer(self, *arguments: Any, **options: Any) -> None:
        _Changes.latest = object()
        super().register_buffer(*arguments, **options)

    def register_parameter(self, *arguments: Any, **options: Any) -> None:
        _Changes.latest = object()
        super().register_parameter(*arguments, **options)


class WatchedList(Watched, nn.ModuleList):
    """The same for parts of a loss."""


class _Changes:
    latest = object()
    """Made anew at every change; no copy or pickle of a loss brings it along."""


def remember(loss: Loss, key: int, found: int | None) -> None:
    """Keep what belongs to a loss as long as no loss changes; ``key`` says for what."""
    loss.__dict__["_memo"] = (_Changes.latest, key, found)


def remembered(loss: Loss, key: int) -> tuple[object, int, int | None] | None:
    """What was kept, as the last of three, if it still holds."""
    memo: tuple[object, int, int | None] | None = loss.__dict__.get("_memo")
    return memo if memo is not None and memo[0] is _Changes.latest and memo[1] == key else None


def forget_all() -> None:
    """What was kept holds no longer."""
    _Changes.latest = object()
