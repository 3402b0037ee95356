"""The shortest way of a batch on a GPU: launched from C++, if that was built and the loss seen before."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..kernels.launcher import library
from ..kernels.launcher.lesson import forget
from .compiled import has_company, is_divided_by_mean
from .fingerprint import fingerprint, remember, remembered

if TYPE_CHECKING:
    from .base import Loss

MOST_KNOWN = 256
MOST_SHAPES = 64
MOST_LESSONS = 3
"""After these it is clear that there is nothing to learn from such logits."""
ANY_CLASSES = -1
"""The number of a loss here is the same for all numbers of classes."""
_counter, _lock = itertools.count(), threading.RLock()
_numbers: dict[Hashable, int] = {}
_lessons: dict[int, dict[Hashable, int]] = {}
_held: dict[int, str] = {}
"""The buffer a loss gives along."""
_of_whole_batches: set[int] = set()
"""Divided by a mean over the batch, which on several processes is theirs together."""


def launched(loss: Loss, logits: Tensor, target: Tensor) -> Tensor | None:
    """The mean loss without weights, or None: another way has to be gone, and may be watched."""
    if not library.takes(logits):
        return None
    memo = remembered(loss, ANY_CLASSES)
    number = _number(loss) if memo is None else memo[2]
    if number is None or (number in _of_whole_batches and has_company()):
        return None
    held = _held.get(number)
    return library.run(logits, target, None if held is None else loss._buffers.get(held), number)


def lesson_for(loss: Loss, logits: Tensor, given: Tensor | None = None) -> int | None:
    """The number under which the launcher may learn from this batch; None where there is nothing to learn.

    ``given`` is what kernels read, which may be a copy of what the loss holds and would give along.
    """
    if not (library.takes(logits) and logits.requires_grad and torch.is_grad_enabled()):
        return None
    if given is not _given(loss):
        return None
    with _lock:
        number = _number(loss)
        if number is None:
            return None
        key, shapes = (logits.shape, logits.stride(), logits.dtype, logits.device), _lessons[number]
        if key not in shapes and len(shapes) >= MOST_SHAPES:
            return None
        shapes[key] = shapes.get(key, 0) + 1
        return number if shapes[key] <= MOST_LESSONS else None


def _given(loss: Loss) -> Tensor | None:
    held = getattr(loss, "held", None)
    return None if held is None else loss._buffers.get(held)


def _number(loss: Loss) -> int | None:
    """The same for losses that are alike; None for one that holds other tensors or functions of the user."""
    given, marks = _given(loss), None
    holds_others = any(t is not given for t in itertools.chain(loss.buffers(), loss.parameters()))
    if not holds_others and loss.reduction == "mean":
        marks = fingerprint(loss)
    if marks is not None and given is not None:
        marks = (*marks, loss.held, loss.draws and loss.training)
    with _lock:
        if marks is not None and marks not in _numbers:
            _define(loss, marks)
        number = None if marks is None else _numbers[marks]
    remember(loss, ANY_CLASSES, number)
    return number


def _define(loss: Loss, marks: Hashable) -> None:
    if len(_numbers) >= MOST_KNOWN:
        for old in _numbers.values():
            forget(old)
            del _lessons[old]  # expressions stay: graphs that are alive may ask for them
        _numbers.clear()
    number = next(_counter)
    same = _without_hooks(loss)

    def again(logits: Tensor, target: Tensor, kept: Tensor | None) -> Tensor:
        from .fused import plain

        return plain(same, logits, target, True, kept)

    _numbers[marks], _lessons[number] = number, {}
    if _given(loss) is not None:
        _held[number] = str(loss.held)
    library.expressions[number] = again
    if is_divided_by_mean(loss):
        _of_whole_batches.add(number)


def _without_hooks(loss: Loss) -> Loss:
    """The same loss, whatever becomes of this one; hooks may hold anything, and would run again.

    Nor does it hold tensors: those of the call are given along.
    """
    same = copy.copy(loss)
    for name, thing in vars(loss).items():
        if "hooks" in name:
            same.__dict__[name] = type(thing)() if thing is not None else None
    same.__dict__["_buffers"] = dict.fromkeys(loss._buffers)
    same.__dict__["_modules"] = {name: _without_hooks(part) for name, part in loss._modules.items()}  # type: ignore[arg-type]
    return same
