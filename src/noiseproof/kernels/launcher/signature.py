"""What a compiled Triton kernel is really passed."""

from __future__ import annotations

import ctypes
import functools
import struct
from typing import TYPE_CHECKING, Any

from torch import Tensor

from .library import DRIVER

if TYPE_CHECKING:
    from ..triton.start import Heard

BYTES = {"i1": 1, "u1": 1, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "fp32": 4}
POINTER = 8
MOST_SCRATCH = 2
"""Pointers Triton adds at the end, to memory our kernels do not ask for."""
PLAIN = {
    "num_ctas": 1,
    "global_scratch_size": 0,
    "profile_scratch_size": 0,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
}


class UnfitError(Exception):
    """The kernel needs more than a plain launch with its arguments."""


def passed(heard: Heard) -> tuple[list[int], list[Tensor | int]]:
    """Handle, grid, threads and shared memory of a launch, and its arguments without compiled-in constants.

    Numbers are given as the integer of the same bytes. The driver is asked what the kernel takes, and what
    differs from that is refused.
    """
    about = heard.compiled.metadata
    if any(getattr(about, name, usual) not in (usual, None) for name, usual in PLAIN.items()):
        raise UnfitError
    kinds = [*heard.compiled.src.signature.values()]
    pairs = [(k, a) for k, a in zip(kinds, heard.arguments, strict=True) if k != "constexpr"]
    arguments = [a if isinstance(a, Tensor) else _integer(k, a) for k, a in pairs]
    sizes = [POINTER if isinstance(a, Tensor) else BYTES[k] for k, a in pairs]
    taken = sizes_of_parameters(heard.compiled.function)
    more = taken[len(sizes) :]
    if taken[: len(sizes)] != sizes or len(more) > MOST_SCRATCH or any(size != POINTER for size in more):
        raise UnfitError
    head = [heard.compiled.function, *heard.grid, about.num_warps * about.target.warp_size, about.shared]
    return head, [*arguments, *[0] * len(more)]


def _integer(kind: Any, number: float) -> int:
    if kind not in BYTES:
        raise UnfitError
    return int.from_bytes(struct.pack("<f", number), "little") if kind == "fp32" else int(number)


def sizes_of_parameters(function: int) -> list[int]:
    """Bytes of each parameter of a loaded kernel, as the CUDA driver says."""
    ask = _driver().cuFuncGetParamInfo
    sizes: list[int] = []
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    kernel, places = ctypes.c_void_p(function), (ctypes.byref(offset), ctypes.byref(size))
    while ask(kernel, ctypes.c_size_t(len(sizes)), *places) == 0:
        sizes.append(size.value)
    return sizes


@functools.cache
def _driver() -> ctypes.CDLL:
    try:
        driver = ctypes.CDLL(DRIVER)
        driver.cuFuncGetParamInfo  # noqa: B018 -- from CUDA 12.4 on
    except (OSError, AttributeError):
        raise UnfitError from None
    return driver
