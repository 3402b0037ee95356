"""The way of a batch through the compiled CPU operator, where it was built."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor

from ..kernels import RowFunction, is_plain_eager, of_margin, recorded
from ..kernels.cpu import operator as cpu_operator
from .fingerprint import fingerprint, forget_all, remember, remembered
from .rows import Rows

if TYPE_CHECKING:
    from .base import Loss
    from .cr import CR
    from .nfl import NFL

MOST_KNOWN = 1024
IGNORED = -100
_numbers: dict[Hashable, int | None] = {}
_kept_alive: list[tuple[Tensor, ...]] = []
_of_whole_batches: set[int | None] = set()
"""Divided by a mean over the batch, which on several processes is theirs together."""
_beyond_programs: weakref.WeakSet[Loss] = weakref.WeakSet()


def compiled(loss: Loss, logits: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor | None:
    """The loss without weights, or None: it is no program, or something is wrong that the long way names."""
    try:
        way = _wrappers().get(type(loss))
        if way is not None:
            return way(loss, logits, target, ignore_index, reduction)
        number = number_of(loss, logits.shape[1])
        if number is None and type(loss) in (sums := _sums()).SUMS:
            found: Tensor | None = sums.part_by_part(loss, logits, target, ignore_index, reduction)
            return found
        if number is None or (is_of_whole_batch(number) and has_company()):
            return None
        return cpu_operator.run(logits, target, number, ignore_index, reduction)
    except (ValueError, IndexError):
        return None


def compiled_rows(loss: Loss, rows: Rows) -> Tensor | None:
    """The unreduced loss of class indices, (N,), or None as above."""
    if not cpu_operator.takes(rows.logits) or not is_plain_eager():
        return None
    target = rows.target if rows.keep is None else torch.where(rows.keep, rows.target, IGNORED)
    return compiled(loss, rows.logits, target, IGNORED, "none")


@functools.cache
def _wrappers() -> dict[type[Loss], Callable[[Any, Tensor, Tensor, int, str], Tensor | None]]:
    from .compiled_wrappers import WRAPPERS

    return WRAPPERS


@functools.cache
def _sums() -> Any:
    from . import compiled_sums

    return compiled_sums


def number_of(loss: Loss, classes: int) -> int | None:
    """The operator's number of this loss, None if it has none."""
    memo = remembered(loss, classes)
    return _number(loss, classes) if memo is None else memo[2]


def _number(loss: Loss, classes: int) -> int | None:
    """Found by what the loss is made of; a loss with functions of the user in it is recorded every time."""
    marks = fingerprint(loss)
    if marks is None:
        return _number_of_written(loss, classes)
    key = (classes, *marks)
    if key not in _numbers:
        _remember(key, _number_of_program(loss, classes))
    remember(loss, classes, _numbers[key])
    return _numbers[key]


def _number_of_written(loss: Loss, classes: int) -> int | None:
    """Of one with functions of the user, which is not tried again where it was no program."""
    found = None if loss in _beyond_programs else _number_of_program(loss, classes)
    if found is None:
        _beyond_programs.add(loss)
    return found


def _number_of_program(loss: Loss, classes: int) -> int | None:
    from .compiled_classes import counts_every_class

    found = _of_classes(loss, classes) if counts_every_class(loss) else _of_rows(loss, classes)
    return _of_sum(loss, classes) if found is None and type(loss) in _sums().SUMS else found


def _of_classes(loss: NFL | CR, classes: int) -> int | None:
    from .compiled_classes import program_of_classes

    found = program_of_classes(loss, classes)
    if found is not None and found not in _numbers:
        _remember(found, cpu_operator.define_classes(*found))
    return None if found is None else _numbers[found]


def _of_rows(loss: Loss, classes: int) -> int | None:
    by_mean = is_divided_by_mean(loss)
    return _of_function(function_of(loss, classes, by_mean), by_mean)


def _of_function(function: RowFunction | None, by_mean: bool) -> int | None:
    recording = None if function is None else recorded(function)
    if function is None or recording is None:
        return None
    key = (recording.program, recording.slots, function.wanted, by_mean, tuple(map(id, recording.tables)))
    if key not in _numbers:
        _kept_alive.append(recording.tables)
        _remember(key, cpu_operator.define(recording, function.wanted, by_mean))
    if by_mean:
        _of_whole_batches.add(_numbers[key])
    return _numbers[key]


def _of_sum(loss: Any, classes: int) -> int | None:
    sum_ = _sums().one_over_all(loss)
    if sum_ is None:
        return None
    every_class = _of_classes(sum_.normalized, classes)
    of_rows = _of_function(sum_.of_rows(classes), by_mean=False)
    if every_class is None or of_rows is None:
        return None
    key = ("sum", every_class, sum_.weight, of_rows)
    if key not in _numbers:
        _remember(key, cpu_operator.define_sum(every_class, float(sum_.weight), of_rows))
    return _numbers[key]


def is_of_whole_batch(number: int) -> bool:
    return number in _of_whole_batches


def is_divided_by_mean(loss: Loss) -> bool:
    """Whether the loss is another one over the mean weight of the batch, where nothing wraps it."""
    from .gr import GR, IMAE

    return type(loss) in (GR, IMAE) and getattr(loss, "normalize", None) == "batch"


def function_of(loss: Loss, classes: int, by_mean: bool) -> RowFunction | None:
    """The loss of a row, before it is divided by a mean."""
    from .margin_loss import MarginLoss

    if by_mean and isinstance(loss, MarginLoss):
        return of_margin(lambda margin: loss.evaluate(margin, num_classes=classes))
    return loss.row_function(classes, 1.0)


def has_company() -> bool:
    """Whether other processes may hold rows of the same batch."""
    return dist.is_available() and dist.is_initialized()


def _remember(key: Hashable, number: int | None) -> None:
    if len(_numbers) >= MOST_KNOWN:
        for old in {n for n in _numbers.values() if n is not None and n != number}:
            cpu_operator.forget(old)
        _numbers.clear()
        forget_all()
        del _kept_alive[:-1]  # the last belongs to ``number``
    _numbers[key] = number
