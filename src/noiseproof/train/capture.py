"""Capture of steps as CUDA graphs, also while other threads use the device."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

WARM_UP = 2
"""Steps that are run before: libraries choose their kernels, the optimiser makes its buffers."""
TRIES = 2
alone = threading.RLock()
"""Held while a graph is captured, and by what a capture elsewhere in the process would disturb.

That is every forward pass outside graphs, too: while one is captured cuDNN is told, for the whole process, to
try its kernels, and to try them it waits for the device, which fails while a stream is captured.
"""


class CaptureError(RuntimeError):
    """A step does what a graph cannot hold, such as waiting for a number from the device."""


class Captures:
    """Makes the graphs of one run. They are replayed one after the other, so they share their memory.

    Graphs of several runs may be replayed at the same time, each on a stream of its own.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._pool: Any = None

    def __call__(self, step: Callable[[], None], rewind: Callable[[], object]) -> Callable[[], None]:
        """Run ``step`` some times, record what it does on the device, and return what does that again.

        ``rewind`` is called before each of those runs, so that they may all be the first.
        """
        with alone, torch.cuda.device(self.device):
            current = torch.cuda.current_stream()
            stream = _stream_to_capture_on(current)
            stream.wait_stream(current)
            try:
                with torch.cuda.stream(stream), _fastest_kernels():
                    for _ in range(WARM_UP):
                        rewind()
                        step()
                    return self._recorded(step).replay
            finally:
                current.wait_stream(stream)

    def _recorded(self, step: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """The graph of a step. What fails once may succeed again: memory, say, that others held just then."""
        for _ in range(TRIES):
            _free_memory()
            graph, pool = torch.cuda.CUDAGraph(), self._pool or torch.cuda.graph_pool_handle()
            problems = _record(graph, step, pool)
            if not problems:
                self._pool = pool
                return graph
            self._pool = None
            _put_right(pool)
        reason = next(iter(str(problems[0]).splitlines()), "") or type(problems[0]).__name__
        raise CaptureError(f"a step cannot be captured as a CUDA graph ({reason})")


def _stream_to_capture_on(current: torch.cuda.Stream) -> torch.cuda.Stream:
    """The current one, unless it is the default stream, which cannot be captured.

    Torch hands out 32 streams in turn: a new one for every capture would soon be the stream of another run.
    """
    is_default = current == torch.cuda.default_stream()
    return _side_stream(torch.cuda.current_device()) if is_default else current


@functools.cache
def _side_stream(device: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


@contextmanager
def _fastest_kernels() -> Iterator[None]:
    """Let cuDNN try its kernels, unless the same bits are wanted every time."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = not torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def _free_memory() -> None:
    """While a graph is captured nothing can be given back, also not what runs that are over have left."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def _record(graph: torch.cuda.CUDAGraph, step: Callable[[], None], pool: Any) -> list[Exception]:
    """Why the capture failed; nothing if it did not."""
    problems: list[Exception] = []
    graph.capture_begin(pool=pool, capture_error_mode="thread_local")
    try:
        with _noted(problems):
            step()
    finally:
        with _noted(problems):
            graph.capture_end()
    return problems


@contextmanager
def _noted(problems: list[Exception]) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        problems.append(problem)


def _put_right(pool: Any) -> None:
    """After a broken capture torch may still set memory aside for it and count its random numbers.

    The first is ended by name, the second by a capture that succeeds.
    """
    end = getattr(torch._C, "_cuda_endAllocateToPool", None)
    with suppress(Exception):
        if end is not None:
            end(torch.cuda.current_device(), pool)
    with suppress(Exception):
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(capture_error_mode="thread_local")
        torch.zeros(1, device="cuda")
        graph.capture_end()
