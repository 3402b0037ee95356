"""One run trained by several processes, started by ``torchrun`` or in a process group of the user.

Every process holds all data and the whole state of the run. In each step a process runs the network on its
own rows of the batch. Logits and features of all rows are exchanged, so every process evaluates the method,
the loss and the record of the whole batch, as a single process does, and no method needs code for this. Each
process then computes the gradients of its own rows, and the gradients are summed over all processes.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist

from .. import processes
from ..counter import draw
from ..methods import OneProcessError
from .device import isolated_random, pick_device

TIMEOUT = timedelta(minutes=30)
"""Time to wait for other processes; the end of a process is detected at once."""
MIN_ROWS = 2
"""Smallest number of rows per process, since batch norm needs two; smaller batches are not divided."""
STREAM = (1 << 20) + 3
"""Stream of the random numbers that seed dropout."""


class RankLostError(RuntimeError):
    """Another process of the run has ended, or cannot be reached."""


class Ranks:
    """The processes that train a run; a single process exchanges nothing.

    Example:
        >>> ranks = Ranks(torch.device("cpu"))
        >>> ranks.is_first, ranks.rows(10), ranks.agreed(None, True)
        (True, slice(0, 10, None), (None, True))
    """

    def __init__(self, device: torch.device, rank: int = 0, count: int = 1, store: Any = None) -> None:
        self.device, self.rank, self.count, self._store = device, rank, count, store
        self._cpu_group = dist.new_group(backend="gloo", timeout=TIMEOUT) if count > 1 else None
        self._pending: tuple[Tensor, Any] | None = None
        self._splits = False

    @property
    def is_first(self) -> bool:
        """Whether this process writes the run folder and shows progress."""
        return self.rank == 0

    def rows(self, size: int, unit: int = 1) -> slice:
        """The rows of this process, in whole units; all of them if there are few."""
        units = -(-size // unit)
        if units < MIN_ROWS * self.count:
            return slice(0, size)
        first, last = (units * rank // self.count * unit for rank in (self.rank, self.rank + 1))
        return slice(first, min(last, size))

    def sharded(self, forward: Callable[[Tensor], Any], step: Callable[[], tuple[int, int, int, int]]) -> Any:
        """``forward`` of a whole batch, of which this process computes its rows.

        The input of the function holds all rows or only those of this process.

        Args:
            step: returns the seed of the run, the epoch, the number of the batch, which determine dropout,
                and the size of the batch.
        """
        if self.count == 1:
            return forward

        def whole(inputs: Tensor) -> Any:
            seed, epoch, batch, size = step()
            rows = self.rows(size)
            self._splits = rows != slice(0, size)
            number = torch.tensor([batch * self.count + (self.rank if self._splits else 0)])
            bits = draw(seed=seed, epoch=epoch, index=number, stream=STREAM)
            with isolated_random(int(bits) & (2**62 - 1), self.device):
                found = forward(inputs[rows] if len(inputs) == size else inputs)
            return self._joined(found, rows, size) if self._splits else found

        return whole

    def _joined(self, found: Any, rows: slice, size: int) -> Any:
        if isinstance(found, (list, tuple)):
            return type(found)([self._joined(part, rows, size) for part in found])
        return None if found is None else _Joined.apply(found.float(), rows, size, self)  # type: ignore[no-untyped-call]

    def joined(self, own: Tensor, rows: slice, size: int) -> Tensor:
        """The rows (size, ...) of all processes, from those that each computed."""
        if rows == slice(0, size):
            return own
        whole = own.new_zeros((size, *own.shape[1:]))
        whole[rows] = own
        return self.sum(whole)

    @torch.no_grad()
    def sum_gradients(self, model: nn.Module, method: nn.Module) -> None:
        """After a backward pass: the gradients of the whole batch, and the buffers of the first process.

        Parameters of the method have the gradient of the whole batch everywhere; that of the first process
        is taken, as are the statistics of batch norm, so that rounding cannot separate the processes.
        """
        if self.count == 1:
            return
        summed = [weight.grad for weight in model.parameters() if weight.grad is not None]
        copied = [weight.grad for weight in method.parameters() if weight.grad is not None]
        copied += [values for values in model.buffers() if values.is_floating_point()]
        if not self.is_first:
            for values in copied if self._splits else [*copied, *summed]:
                values.zero_()
        for dtype in {values.dtype: None for values in (*summed, *copied)}:
            together = [values for values in (*summed, *copied) if values.dtype == dtype]
            flat = self.sum(torch.cat([values.reshape(-1) for values in together]))
            parts = torch.split(flat, [values.numel() for values in together])
            for values, part in zip(together, parts, strict=True):
                values.copy_(part.view_as(values))

    def copy_first(self, *modules: nn.Module) -> None:
        """Give all processes the parameters and buffers of the first one."""
        for module in modules if self.count > 1 else ():
            for values in module.state_dict().values():
                whole = values.contiguous()
                with _explained():
                    dist.broadcast(whole, 0, group=self._cpu_group if values.device.type == "cpu" else None)
                values.copy_(whole)

    def check_same(self, facts: Mapping[str, str]) -> None:
        """ValueError if a fact of a process differs from that of the first one."""
        for name, fact in facts.items() if self.count > 1 else ():
            digest = int.from_bytes(hashlib.sha256(fact.encode()).digest()[:7], "big")
            found = torch.zeros(self.count, dtype=torch.int64)
            found[self.rank] = digest
            others = (self.sum(found) != found[0]).nonzero().flatten().tolist()
            if others:
                raise ValueError(
                    f"process {others[0]} of {self.count} has {name} than process 0: start all of them with"
                    " the same command, on data and an --out that all hosts share"
                )

    def agreed(self, signal: int | None, is_due: bool) -> tuple[int | None, bool]:
        """A signal that any process received, and whether a checkpoint of the first process is due.

        The answers of one step are read in the next one, so that no process waits for them.
        """
        if self.count == 1:
            return signal, is_due
        before, values = self._pending, torch.tensor([signal or 0, int(is_due)])
        with _explained():
            work = dist.all_reduce(values, dist.ReduceOp.MAX, group=self._cpu_group, async_op=True)
            self._pending = values, work
            if before is None:
                return None, False
            before[1].wait()
        found, due = before[0].tolist()
        return found or None, bool(due)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        with _explained():
            dist.all_reduce(values, group=self._cpu_group if values.device.type == "cpu" else None)
        return values

    def wait(self) -> None:
        """Wait until all processes have called this."""
        if self.count > 1:
            if self._pending is not None:
                self._pending[1].wait()
            self.sum(torch.zeros(1))

    def is_reported(self) -> bool:
        """Whether another process has already reported why the run ends."""
        try:
            return self._store is not None and self._store.add("noiseproof/ended", 1) > 1
        except RuntimeError:  # the process that held the store is gone
            return False


class _Joined(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, rows: slice, size: int, ranks: Ranks) -> Tensor:  # type: ignore[override]
        ctx.rows = rows
        return ranks.joined(own, rows, size)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        return gradient[ctx.rows], None, None, None


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except RuntimeError as problem:
        reason = str(problem).partition("\n")[0].rpartition("] ")[2].partition(". ")[0]
        raise RankLostError(
            "another process of this run has ended, or cannot be reached; the same command resumes from the"
            f" last checkpoint ({reason})"
        ) from None


@contextmanager
def connected_processes(device_name: str) -> Iterator[Ranks]:
    """Context manager that connects the processes of this run; an error ends all of them.

    ``is_reported`` is set on errors of all processes but the one that failed first, which says why.
    """
    is_initialized, (rank, count) = dist.is_available() and dist.is_initialized(), rank_and_count()
    if count == 1:
        yield Ranks(pick_device(device_name))
        return
    device = _own_device(device_name)
    ranks = Ranks(device, rank, count) if is_initialized else _connect(device)
    try:
        with processes.same_rows(), nullcontext() if ranks.is_first else warnings.catch_warnings():
            if not ranks.is_first:
                warnings.simplefilter("ignore")
            yield ranks
            ranks.wait()
    except Exception as problem:
        problem.is_reported = ranks.is_reported()  # type: ignore[attr-defined]
        if not is_initialized and device.type == "cpu":  # NCCL would wait for the process that ended
            dist.destroy_process_group()
        raise
    if not is_initialized:
        dist.destroy_process_group()


def _connect(device: torch.device) -> Ranks:
    from torch.distributed.rendezvous import rendezvous

    store, rank, count = next(rendezvous("env://", timeout=TIMEOUT))
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=TIMEOUT)
    return Ranks(device, rank, count, store)


def _own_device(name: str) -> torch.device:
    """The GPU of this process among those of its machine, unless ``name`` contains a number, or the CPU."""
    device, local_rank = pick_device(name), int(os.environ.get("LOCAL_RANK", "0"))
    if device.type != "cuda" or device.index is not None:
        return device
    if local_rank >= torch.cuda.device_count():
        raise ValueError(
            f"process {local_rank + 1} on this machine finds {torch.cuda.device_count()} GPUs: start as many"
            " processes as there are GPUs (--nproc-per-node), or give --device cpu"
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def rank_and_count() -> tuple[int, int]:
    """Rank of this process and number of processes, by torch.distributed or the variables of ``torchrun``."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    count = os.environ.get("WORLD_SIZE", "1")
    return (int(os.environ.get("RANK", "0")), int(count)) if count.isdecimal() and int(count) > 1 else (0, 1)


def require_one_process(what: str) -> None:
    """OneProcessError if several processes of ``torchrun`` would all do the same work."""
    rank, count = rank_and_count()
    if count > 1:
        raise OneProcessError(
            f"{what} cannot be divided among processes, and this is process {rank} of {count}: start the"
            " command without torchrun"
        )
