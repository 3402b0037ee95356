"""Capture of steps as CUDA graphs while other threads use the device."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

WARM_UP = 2
"""Steps that run before the capture: libraries choose kernels, the optimiser creates its buffers."""
ATTEMPTS = 2
capture_lock = threading.RLock()
"""Held during a capture, and by all work of other threads that would make a capture fail.

This includes every forward pass outside graphs: during a capture cuDNN benchmarks kernels in the whole
process and synchronises with the device for that, which fails while a stream is being captured.
"""


class CaptureError(RuntimeError):
    """A step does something that a graph cannot contain, such as reading a value from the device."""


class Captures:
    """Captures the graphs of one run, which share memory because they never run at the same time.

    Graphs of several runs may be replayed at the same time on separate streams.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._pool: Any = None

    def __call__(self, step: Callable[[], None], rewind: Callable[[], object]) -> Callable[[], None]:
        """Run ``step`` ``WARM_UP`` times, capture it, and return the replay.

        ``rewind`` is called before each warm-up, so that each runs as the first step.
        """
        with capture_lock, torch.cuda.device(self.device):
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
        """The graph of a step. A second try may succeed, for example after other runs have freed memory."""
        for _ in range(ATTEMPTS):
            _free_memory()
            graph, pool = torch.cuda.CUDAGraph(), self._pool or torch.cuda.graph_pool_handle()
            problems = _record(graph, step, pool)
            if not problems:
                self._pool = pool
                return graph
            self._pool = None
            _clean_up(pool)
        reason = next(iter(str(problems[0]).splitlines()), "") or type(problems[0]).__name__
        raise CaptureError(f"a step cannot be captured as a CUDA graph ({reason})")


def _stream_to_capture_on(current: torch.cuda.Stream) -> torch.cuda.Stream:
    """The current stream, or a side stream if that is the default stream, which cannot be captured.

    Torch has a pool of 32 streams: with a new one per capture, runs would soon share streams.
    """
    is_default = current == torch.cuda.default_stream()
    return _side_stream(torch.cuda.current_device()) if is_default else current


@functools.cache
def _side_stream(device: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


@contextmanager
def _fastest_kernels() -> Iterator[None]:
    """Let cuDNN benchmark its kernels, unless deterministic algorithms are required."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = not torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def _free_memory() -> None:
    """Release cached memory, including that of finished runs: during a capture this is impossible."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def _record(graph: torch.cuda.CUDAGraph, step: Callable[[], None], pool: Any) -> list[Exception]:
    """Capture a step; the errors that were raised, an empty list if it succeeded."""
    problems: list[Exception] = []
    graph.capture_begin(pool=pool, capture_error_mode="thread_local")
    try:
        with _collected(problems):
            step()
    finally:
        with _collected(problems):
            graph.capture_end()
    return problems


@contextmanager
def _collected(problems: list[Exception]) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        problems.append(problem)


def _clean_up(pool: Any) -> None:
    """Reset torch after a failed capture.

    Its allocator may still use the pool, which is ended explicitly, and its generator may still count random
    numbers for the graph, which a successful capture ends.
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
