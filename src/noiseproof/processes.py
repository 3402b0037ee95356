"""Several processes of torch.distributed that train together, each on a part of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed

_same_rows = False


@contextmanager
def same_rows() -> Iterator[None]:
    """Inside, every process computes all rows of a batch, so that losses and methods exchange nothing."""
    global _same_rows
    before, _same_rows = _same_rows, True
    try:
        yield
    finally:
        _same_rows = before


def count() -> int:
    """How many processes share the rows of a batch; 1 without torch.distributed."""
    return distributed.get_world_size() if _is_ready() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return distributed.get_rank() if _is_ready() else 0


def _is_ready() -> bool:
    return not _same_rows and distributed.is_available() and distributed.is_initialized()


def collective_device(device: torch.device) -> torch.device:
    """Where tensors must be to be exchanged: ``device`` if the backend can, else the current GPU."""
    if count() > 1 and device.type == "cpu" and distributed.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return device


def has_first(seen: Tensor) -> Tensor:
    """Where this process is the one of the lowest rank among those for which ``seen`` is true."""
    owner = torch.where(seen, rank(), count()).to(torch.int32)
    if count() > 1:
        distributed.all_reduce(owner, op=distributed.ReduceOp.MIN)
    return seen & (owner == rank())


def from_owner(values: Tensor, mine: Tensor, missing: float) -> Tensor:
    """For each row the value of the one process where ``mine`` is true, and ``missing`` where none is."""
    found, owned = torch.where(mine, values, 0), mine.to(torch.int32)
    if count() > 1:
        distributed.all_reduce(found)
        distributed.all_reduce(owned)
    return torch.where(owned > 0, found, missing).to(values.dtype)


def largest(number: int, device: torch.device) -> int:
    """The largest of the numbers that the processes give."""
    if count() == 1:
        return number
    found = torch.tensor(number, dtype=torch.int64, device=collective_device(device))
    distributed.all_reduce(found, op=distributed.ReduceOp.MAX)
    return int(found)
