"""Steps captured once as CUDA graphs and replayed: the host only says "again".

A small network on a fast GPU waits for Python: a step is some hundred kernels of a few microseconds each.
Captured, they are launched by one call. Whatever changes from step to step is read from tensors at fixed
places: the views and labels of a block of batches, its learning rates, and a counter that the step itself
moves on. Views are made for a whole block at once by the same code as in the plain loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor

from ..data import Batch
from .capture import CaptureError
from .fused_network import is_worthwhile, with_fused_network
from .lean_network import lean_network
from .order import epoch_order
from .session import Session
from .snapshot import Snapshot
from .step import train_step

Replay = Callable[[], None]
Capture = Callable[[Callable[[], None], Callable[[], object]], Replay]
BLOCK_BYTES = 64 << 20
"""Views that are made at once."""


class GraphSteps:
    """The steps of a session as graphs, one for each size of batch and phase of the method.

    ``capture`` makes a replay of a step; the tests give one that runs the step itself, on a CPU.
    """

    def __init__(self, session: Session, capture: Capture) -> None:
        self.session, self.capture = session, capture
        self._replays: dict[Hashable, Replay] = {}
        device, largest = session.device, max(stop - start for start, stop in session.bounds)
        probe = session.views.train(session.train.batch(torch.zeros(1, dtype=torch.int64, device=device)), 1)
        self._shape = probe.shape[1:]
        self._last = session.views.layout is torch.channels_last and probe.dim() == 4
        batch_bytes = largest * probe.numel() * probe.element_size()
        self._batches = min(max(1, BLOCK_BYTES // batch_bytes), len(session.bounds))
        self.views = torch.zeros(self._batches * largest * probe.numel(), dtype=probe.dtype, device=device)
        self.numbers = torch.zeros(self._batches * _width(largest), dtype=torch.int64, device=device)
        self.rates = torch.zeros(self._batches, device=device)
        self.rate = torch.zeros((), device=device)
        self.place = torch.zeros(1, dtype=torch.int64, device=device)

    def epoch(self) -> Iterator[None]:
        """The rest of the current epoch, a step at a time; the device may be behind."""
        session = self.session
        order = epoch_order(session.train.index, seed=session.config.seed, epoch=session.epoch)
        while block := self._next_block():
            self._fill(order, block)
            replay = self._replay(block[0][1] - block[0][0])
            for _ in block:
                session.set_learning_rate(session.learning_rate())
                replay()
                session.count_step()
                yield

    def _next_block(self) -> list[tuple[int, int]]:
        """Batches of the same size, as many as there is room for."""
        block: list[tuple[int, int]] = []
        for start, stop in self.session.bounds_left()[: self._batches]:
            if block and stop - start != block[0][1] - block[0][0]:
                break
            block.append((start, stop))
        return block

    def _fill(self, order: Tensor, block: list[tuple[int, int]]) -> None:
        session, (first, last) = self.session, (block[0][0], block[-1][1])
        batch = session.train.batch(order[first:last])
        views = session.views.train(batch, session.epoch)
        views = views.permute(0, 2, 3, 1) if self._last else views
        self.views[: views.numel()].view(views.shape).copy_(views)
        size = block[0][1] - first
        numbers = self.numbers[: len(block) * _width(size)].view(len(block), -1)
        numbers[:, :size] = batch.label.view(-1, size)
        numbers[:, size:-1] = batch.index.view(-1, size)
        numbers[:, -1] = session.batch + torch.arange(len(block), device=session.device)
        rates = torch.tensor([session.learning_rate(ahead) for ahead in range(len(block))])
        if self.rates.is_cuda:
            rates = rates.pin_memory()  # else the copy would wait for the device
        self.rates[: len(block)].copy_(rates, non_blocking=True)
        self.place.zero_()

    def _replay(self, size: int) -> Replay:
        key = size, self.session.method.phase(self.session.epoch)
        if key[1] is None:
            raise CaptureError(f"{self.session.method} has no phase in epoch {self.session.epoch}")
        if key not in self._replays:
            fused = is_worthwhile(self.session, size)
            work = partial(self._captured, size)
            self._replays[key] = with_fused_network(self.session, work) if fused else work()
        return self._replays[key]

    def _captured(self, size: int) -> Replay:
        with self._rehearsal():
            replay = self.capture(partial(self._step, size), self.place.zero_)
            self.place.zero_()
            replay()
            if int(self.place) != 1:
                raise CaptureError("a captured step does nothing")
            return replay

    @contextmanager
    def _rehearsal(self) -> Iterator[None]:
        """What is trained in here is forgotten; the optimiser reads its rate from a tensor."""
        before = Snapshot(self.session)
        self.session.set_learning_rate(self.rate)
        try:
            yield
        finally:
            self.session.set_learning_rate(self.session.learning_rate())
            before.restore(self.session)
            self.place.zero_()

    def _step(self, size: int) -> None:
        torch.index_select(self.rates, 0, self.place, out=self.rate.view(1))
        views = self._turn(self.views, size * self._shape.numel())
        if self._last:
            channels, *space = self._shape
            views = views.view(size, *space, channels).permute(0, 3, 1, 2)
        views = views.view(size, *self._shape)
        numbers = self._turn(self.numbers, _width(size))
        batch = Batch(views, label=numbers[:size], index=numbers[size:-1])
        with lean_network(self.session):
            train_step(self.session, batch, views, self.rate, numbers[-1])
        self.place.add_(1)

    def _turn(self, block: Tensor, width: int) -> Tensor:
        """What the batch has whose turn it is."""
        count = len(block) // width
        return block[: count * width].view(count, width).index_select(0, self.place)[0]


def _width(size: int) -> int:
    """Whole numbers of a batch: its labels, its samples, and its own in the epoch."""
    return 2 * size + 1
