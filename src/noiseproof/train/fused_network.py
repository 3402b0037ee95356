"""The network of a captured step, its small kernels fused by torch.compile where that pays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

from .session import Session

LONG = 20_000
"""Steps of a run from which compiling (half a minute, once for all runs of a process) is worth while."""
Found = TypeVar("Found")


def is_worthwhile(session: Session, size: int) -> bool:
    """For long runs on a GPU, and for batches of the usual size."""
    usual = session.bounds[0][1] - session.bounds[0][0]
    return session.device.type == "cuda" and session.steps >= LONG and size == usual


def with_fused_network(session: Session, work: Callable[[], Found]) -> Found:
    """``work()`` with ``session.forward`` compiled; where that fails, with a warning, as it is.

    Batch norm, activation and addition become one pass over memory each way; the numbers are those of the
    network up to rounding.
    """
    try:
        with _compiled(session):
            return work()
    except Exception as problem:
        reason = str(problem).strip().splitlines() or [type(problem).__name__]
        warnings.warn(f"torch.compile of the network failed ({reason[0]}): going on without", stacklevel=2)
    return work()


@contextmanager
def _compiled(session: Session) -> Iterator[None]:
    plain = session.forward
    session.forward = torch.compile(plain, dynamic=False)
    try:
        yield
    finally:
        session.forward = plain
