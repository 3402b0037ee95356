"""What a loss is made of, as a key under which its program is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from .base import Loss

SCALARS = (int, float, str, type(None))
INTERNAL = {*vars(nn.Module()), "_suprema", "_integral"}
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
        elif isinstance(thing, list):
            marks += (name, *thing)
        else:
            return None
    for part in loss.inner:
        inside = fingerprint(part)
        if inside is None:
            return None
        marks.append(inside)
    return tuple(marks)
