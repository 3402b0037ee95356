"""Starting a Triton kernel with little work on the host, which is what small batches wait for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

ALIGNMENT = 16
"""Triton compiles a kernel of its own for memory that does not start at a multiple of this."""
MOST_KNOWN = 4096
CONSTANTS = frozenset((int, float, bool, tuple))
"""Types of arguments that are no tensor; several times faster to ask for than ``isinstance(a, Tensor)``."""
_compiled: dict[tuple[object, ...], Any] = {}


class Heard(NamedTuple):
    """A launch, for those who listen."""

    compiled: Any
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]


class _Ear(threading.local):
    launches: list[Heard] | None = None


_ear = _Ear()


@contextlib.contextmanager
def listening(wanted: bool) -> Iterator[list[Heard]]:
    """The launches of this thread while it is open; none where they are not wanted."""
    before, launches = _ear.launches, list[Heard]()
    _ear.launches = launches if wanted else None
    try:
        yield launches
    finally:
        _ear.launches = before


def start(
    kernel: Any,
    grid: tuple[int, int, int],
    warps: int,
    arguments: tuple[Any, ...],
    contract: bool = False,
    registers: int | None = None,
) -> None:
    """Run ``kernel`` on the device of its first argument.

    Triton looks at every argument to find the compiled kernel; here equal shapes, strides, constants and
    alignments find it at once. Multiplications and additions become one only where ``contract`` allows it:
    otherwise what cancels does so exactly. ``registers`` is the most a thread may have.
    """
    first: Tensor = arguments[0]
    if not first.is_cuda:
        known = kernel[grid](*arguments, num_warps=warps, enable_fp_fusion=contract)
        _hear(kernel if known is None else known, grid, arguments)
        return
    marks = [a if type(a) in CONSTANTS else (a.dtype, a.data_ptr() % ALIGNMENT) for a in arguments]
    key = (kernel, first.device.index, warps, registers, *marks)
    with _device_of(first):
        known = _compiled.get(key)
        if known is None:
            limit = {"maxnreg": registers} if registers is not None and torch.version.cuda else {}
            known = kernel[grid](*arguments, num_warps=warps, enable_fp_fusion=contract, **limit)
            if len(_compiled) >= MOST_KNOWN:
                _compiled.clear()
            if hasattr(known, "packed_metadata"):
                _compiled[key] = known
        else:
            known[grid](*arguments)
    _hear(known, grid, arguments)


def _hear(compiled: Any, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
    if _ear.launches is not None:
        _ear.launches.append(Heard(compiled, grid, arguments))


def _device_of(tensor: Tensor) -> contextlib.AbstractContextManager[object]:
    """Triton launches on the current device, which need not be the tensor's."""
    if not tensor.is_cuda or tensor.device.index == torch.cuda.current_device():
        return contextlib.nullcontext()
    return torch.cuda.device(tensor.device)
