"""Launching the Triton kernels: sizes from a fixed table, since measuring at run time would synchronise."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..recorder import Program
from ..row_function import Statistics, Wanted
from .gradient import gradient_kernel, scale_kernel
from .statistics import NO_MEAN, statistics_kernel

ALIGNMENT = 16
"""Triton compiles a separate kernel for memory that does not start at a multiple of this."""
MAX_CACHED = 4096
BYTES_PER_LOAD = 16
MIN_PROGRAMS = 128
MANY_ROWS = 1024
SCALED_PER_PROGRAM = 8192
MIN_COUNTED_AT_ONCE, MAX_COUNTED_AT_ONCE, MAX_CLASSES_AT_ONCE = 256, 8192, 32768
NO_PROGRAM = Program((), ())
_compiled: dict[tuple[object, ...], Any] = {}


class State(IntEnum):
    """Rows of the result of the statistics pass; only the first three unless a loss needs sums."""

    MARGIN = 0
    PEAK = 1
    MASS = 2
    LOGSUMEXP = 3
    SUM_Z = 4
    SUM_P2 = 5
    SUM_PZ = 6
    CLASSES = 7
    GAP = 8
    """The largest d minus the sum of d squared, where d is the softmax over the other classes."""
    LABEL = 9


STATISTICS = (State.MARGIN, State.LOGSUMEXP, State.SUM_Z, State.SUM_P2, State.SUM_PZ)
"""The rows that are :class:`Statistics`."""
OF_MARGIN = (0, -1, -1, -1, -1)
"""Slots of a single derivative, that with respect to the margin."""


class Tile(NamedTuple):
    """How much one program processes at a time."""

    rows: int
    block: int
    warps: int
    blocks: int = 1
    """Blocks of a row that one program of the gradient writes; the statistics need the whole row."""


@functools.lru_cache(MAX_CACHED)
def tile_of(classes: int, batch: int) -> Tile:
    """Fixed sizes, measured on an H200: short rows are processed together, long ones block by block.

    In a small batch a program takes fewer rows, so that it finishes sooner; in a large batch rows of medium
    length are also read block by block, by few warps, since the work per row is the same for every warp.
    """
    if classes > 2048:
        return Tile(1, 2048, 4, 8)
    if classes > 512 and batch >= MANY_ROWS:
        return Tile(1, 512, 2)
    block = max(16, 1 << (classes - 1).bit_length())
    rows = max(1, min(16, 1024 // block, 1 << (batch // MIN_PROGRAMS).bit_length() >> 1))
    return Tile(rows, block, max(1, min(4, rows * block // 256)))


def steps_of(length: int, step: int) -> int:
    return -(-length // step)


class Sizes(NamedTuple):
    """Grid, warps and trailing arguments of a launch: everything that is not a pointer."""

    grid: tuple[int, int, int]
    warps: int
    arguments: tuple[Any, ...]


def statistics_sizes(
    logits: Tensor,
    *,
    wanted: Wanted | None,
    program: Program = NO_PROGRAM,
    has_keep: bool,
    ignore_index: int = 0,
    mode: int = NO_MEAN,
    weighted: bool = False,
    centred: bool = True,
) -> Sizes:
    """``centred`` subtracts the label's logit from logsumexp and sum of z, so their difference is exact."""
    rows, classes = logits.shape
    tile, width = tile_of(classes, rows), BYTES_PER_LOAD // logits.element_size()
    flags = (*(wanted or Wanted()), centred, weighted)
    arguments: tuple[Any, ...] = (rows, classes, *logits.stride(), ignore_index, mode, has_keep)
    arguments += (
        logits.stride(1) == 1,
        wanted is not None,
        flags,
        *program,
        tile.rows,
        tile.block // width,
        width,
    )
    return Sizes((steps_of(rows, tile.rows), 1, 1), tile.warps, arguments)


def gradient_sizes(
    logits: Tensor,
    out_strides: tuple[int, ...],
    slots: tuple[int, ...],
    *,
    has_keep: bool,
    ignore_index: int = 0,
    upstream_stride: int | None = None,
    mean: bool = False,
    weighted: bool = False,
) -> Sizes:
    """``upstream_stride`` is 0 for a single number and None for an upstream of 1."""
    rows, classes = logits.shape
    tile, has_upstream = tile_of(classes, rows), upstream_stride is not None
    contiguous = logits.stride(1) == 1 and out_strides[1] == 1
    arguments: tuple[Any, ...] = (rows, classes, *logits.stride(), *out_strides, ignore_index)
    arguments += (upstream_stride or 0,)
    arguments += (
        has_upstream,
        mean,
        slots,
        has_keep,
        weighted,
        contiguous,
        tile.rows,
        tile.block,
        tile.blocks,
    )
    grid = (steps_of(rows, tile.rows), steps_of(classes, tile.block * tile.blocks), 1)
    return Sizes(grid, tile.warps, arguments)


def frequencies_sizes(rows: int, classes: int) -> Sizes:
    least = max(MIN_COUNTED_AT_ONCE, 1 << (max(rows, classes) - 1).bit_length())
    block, columns = min(MAX_COUNTED_AT_ONCE, least), min(MAX_CLASSES_AT_ONCE, least)
    return Sizes((1, 1, 1), block // MIN_COUNTED_AT_ONCE, (rows, classes, block, columns))


# Launches without a plan --------------------------------------------------------------------------


def statistics(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    wanted: Wanted | None,
    weights: Tensor | None = None,
    centred: bool = True,
) -> Tensor:
    """The rows of :class:`State`, (3, N), or (10, N) where sums are wanted, in float32."""
    rows = logits.shape[0]
    state = logits.new_empty((3 if wanted is None else len(State), rows), dtype=torch.float32)
    sizes = statistics_sizes(
        logits, wanted=wanted, has_keep=True, weighted=weights is not None, centred=centred
    )
    others = (state, state, state, state, state if weights is None else weights, state, state, state)
    pointers = (logits, target.contiguous(), keep.contiguous(), *others)
    start(statistics_kernel, sizes, pointers)
    return state


def statistics_of(state: Tensor) -> tuple[Statistics, Tensor]:
    """The inputs of a row function: statistics relative to the label's logit, and numbers of classes."""
    if len(state) < len(State):
        return Statistics(*[state[State.MARGIN]] * 5), state[State.MARGIN]
    row = Statistics(*(state[row] for row in STATISTICS))
    return row._replace(sum_pz=row.sum_pz - state[State.LABEL]), state[State.CLASSES]


def gradient(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    state: Tensor,
    partials: Tensor,
    slots: tuple[int, ...],
    upstream: Tensor | None = None,
    weights: Tensor | None = None,
    inplace: bool = False,
) -> Tensor:
    """The gradient of the logits, of their dtype: contiguous, or in their own memory.

    ``partials`` (k, N) holds the derivatives with respect to margin, logsumexp, sum of z, of p squared and of
    p z in the rows that ``slots`` names, -1 for those that are 0. ``upstream`` is (N,).
    """
    out = logits if inplace else torch.empty_like(logits, memory_format=torch.contiguous_format)
    stride = None if upstream is None else upstream.stride(0)
    sizes = gradient_sizes(
        logits, out.stride(), slots, has_keep=True, upstream_stride=stride, weighted=weights is not None
    )
    above = state if upstream is None else upstream
    others = (state, partials, above, state, state if weights is None else weights, out)
    start(gradient_kernel, sizes, (logits, target.contiguous(), keep.contiguous(), *others))
    return out


def scale(tensor: Tensor, factor: Tensor) -> None:
    """Multiply a contiguous tensor in place by one float32 number on the same device."""
    count = tensor.numel()
    grid = (steps_of(count, SCALED_PER_PROGRAM), 1, 1)
    start(scale_kernel, Sizes(grid, 8, (count, SCALED_PER_PROGRAM)), (tensor, factor))


def start(kernel: Any, sizes: Sizes, pointers: tuple[Tensor, ...]) -> Any:
    """Run ``kernel`` on the device of its first argument; returns the compiled kernel, None if interpreted.

    Triton inspects every argument to find the compiled kernel; here equal shapes, strides, constants and
    alignments find it at once. Products and sums are never fused, so that terms that cancel do so exactly.
    """
    first, arguments = pointers[0], (*pointers, *sizes.arguments)
    if not first.is_cuda:
        return kernel[sizes.grid](*arguments, num_warps=sizes.warps, enable_fp_fusion=False)
    marks = ((p.dtype, p.data_ptr() % ALIGNMENT) for p in pointers)
    key = (kernel, first.device.index, sizes, *marks)
    with device_of(first):
        known = _compiled.get(key)
        if known is not None:
            known[sizes.grid](*arguments)
            return known
        made = kernel[sizes.grid](*arguments, num_warps=sizes.warps, enable_fp_fusion=False)
        if len(_compiled) >= MAX_CACHED:
            _compiled.clear()
        if takes_all_arguments(made, len(arguments)):
            _compiled[key] = made
        return made


def takes_all_arguments(compiled: Any, count: int) -> bool:
    """Whether a compiled kernel is launched with constants among its arguments, as since Triton 3.3."""
    return len(getattr(getattr(compiled, "src", None), "signature", ())) == count


def device_of(tensor: Tensor) -> contextlib.AbstractContextManager[object]:
    """Triton launches on the current device, which need not be the tensor's."""
    if not tensor.is_cuda or tensor.device.index == torch.cuda.current_device():
        return contextlib.nullcontext()
    return torch.cuda.device(tensor.device)


def bound(compiled: Any, sizes: Sizes, pointers: int) -> Callable[..., None] | None:
    """A function (device, *pointers) that launches a compiled kernel without inspecting its arguments.

    Pointers are passed as integers, so that Triton does not query the driver for their device.
    None if the kernel is interpreted, or if Triton has another interface.
    """
    if not takes_all_arguments(compiled, pointers + len(sizes.arguments)):
        return None
    run, function, packed = compiled.run, compiled.function, compiled.packed_metadata
    (x, y, z), constants = sizes.grid, sizes.arguments
    current_device, current_stream = torch._C._cuda_getDevice, torch._C._cuda_getCurrentRawStream

    def launch(device: int, *addresses: int) -> None:
        if device != current_device():
            with torch.cuda.device(device):
                launch(device, *addresses)
            return
        stream = current_stream(device)
        run(x, y, z, stream, function, packed, None, None, None, *addresses, *constants)

    return launch


# Tickets ------------------------------------------------------------------------------------------

IN_TURN, ONCE = 4096, 32768
"""Number of tickets that are reused in turn, and of those reserved for one captured launch each."""
WORDS = 4
"""Words per ticket, so that each is aligned."""


class Ticket(NamedTuple):
    """One integer on a device and its address."""

    number: Tensor
    address: int


class Tickets:
    """Counters by which the last program of a launch knows that all others have finished.

    A ticket is 0 when a launch begins and 0 again when it ends. No two launches at the same time may share
    one: launches of a CUDA graph, which may be replayed at any time, keep theirs; all others take the next of
    ``IN_TURN`` tickets, which are so many that a launch ends long before its ticket is used again.
    """

    def __init__(self, device: torch.device) -> None:
        everything = torch.zeros(IN_TURN + ONCE, WORDS, dtype=torch.int32, device=device)
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # the first launch may be on another stream
        tickets = [Ticket(one, one.data_ptr()) for one in everything.unbind()]
        self.in_turn: Iterator[Ticket] = itertools.cycle(tickets[:IN_TURN])
        self.once: Iterator[Ticket] = iter(tickets[IN_TURN:])


_tickets: dict[int, Tickets] = {}


def next_ticket(logits: Tensor) -> Ticket | None:
    """A ticket on the device of the logits; None if a graph is being captured and none is left for it."""
    index = logits.get_device()
    known = _tickets.get(index)
    if index >= 0 and torch.cuda.is_current_stream_capturing():
        return None if known is None else next(known.once, None)
    if known is None:
        known = _tickets.setdefault(index, Tickets(logits.device))
    return next(known.in_turn)
