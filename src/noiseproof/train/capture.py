"""Capture of a step as a CUDA graph, also while other threads use the device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

WARM_UP = 2
"""Steps that are run before: libraries choose their kernels, the optimiser makes its buffers."""
TRIES = 2
alone = threading.RLock()
"""Held while a graph is captured, and by what a capture elsewhere in the process would disturb."""


class CaptureError(RuntimeError):
    """A step does what a graph cannot hold, such as waiting for a number from the device."""


def capture(step: Callable[[], None], rewind: Callable[[], object]) -> Callable[[], None]:
    """Run ``step`` some times, record what it does on the device, and return what does that again.

    ``rewind`` is called before each of those runs, so that they may all be the first. The graph keeps its
    own memory, so several may be replayed at the same time on their own streams.
    """
    current = torch.cuda.current_stream()
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    with alone:
        stream.wait_stream(current)
        with torch.cuda.stream(stream), _fastest_kernels():
            for _ in range(WARM_UP):
                rewind()
                step()
            stream.synchronize()
            graph = _recorded(step)
        current.wait_stream(stream)
    return graph.replay


@contextmanager
def _fastest_kernels() -> Iterator[None]:
    """Let cuDNN try its kernels, unless the same bits are wanted every time."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = not torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def _recorded(step: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """The graph of a step. What fails once may succeed again: memory, say, that others held just then."""
    for _ in range(TRIES):
        graph = torch.cuda.CUDAGraph()
        reasons = _record(graph, step)
        if not reasons:
            return graph
    raise CaptureError(f"a step cannot be captured as a CUDA graph ({reasons[0]})")


def _record(graph: torch.cuda.CUDAGraph, step: Callable[[], None]) -> list[str]:
    """Why the capture failed, in words; nothing if it did not."""
    reasons: list[str] = []
    graph.capture_begin(capture_error_mode="thread_local")
    for work in (step, graph.capture_end):
        try:
            work()
        except RuntimeError as problem:
            reasons += str(problem).splitlines()[:1]
    return reasons
