"""Training steps captured once as CUDA graphs and replayed by one call each.

A step of a small network is several hundred kernels of a few microseconds each, so a fast GPU waits for
Python. A captured step launches them all with one call. Everything that changes between steps is read from
tensors at fixed addresses: the inputs and labels of a block of batches, its learning rates, and a counter
that the step increments. The inputs of a block are prepared by the same code as in ``PlainSteps``.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from ..data import Batch
from ..data.inputs import streams
from ..devices.capture import CaptureError, Captures
from ..devices.network import is_worth_compiling, joint_casts, with_compiled_network
from ..methods import Method
from ..models.classifier import Classifier
from .checkpoint import flatten
from .optimizer import parse_optimizer
from .session import Session
from .steps import PlainSteps, train_step

Replay = Callable[[], None]
Capture = Callable[[Callable[[], None], Callable[[], object]], Replay]
BLOCK_BYTES = 64 << 20
"""Largest size of the inputs of a block, which are prepared together."""
SNAPSHOT = ("model", "method", "optimizer", "recorder", "meter")
"""Parts of the state of a session that a step changes; they are restored after a capture."""


class GraphSteps:
    """The steps of a session as CUDA graphs, one per batch size and phase of the method.

    ``capture`` turns a step into a function that replays it; tests pass one that runs the step on a CPU.
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
        """Run the rest of the current epoch, one step per item, without waiting for the device."""
        session = self.session
        order = session.order()
        while block := self._next_block():
            self._fill(order, block)
            replay = self._replay(block[0][1] - block[0][0])
            for _ in block:
                session.set_learning_rate(session.learning_rate())
                replay()
                session.count_step()
                yield

    def _next_block(self) -> list[tuple[int, int]]:
        """The next batches of equal size, as many as fit into a block."""
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
            rates = rates.pin_memory()  # a copy from pageable memory would wait for the device
        self.rates[: len(block)].copy_(rates, non_blocking=True)
        self.place.zero_()

    def _replay(self, size: int) -> Replay:
        key = size, self.session.method.phase(self.session.epoch)
        if key[1] is None:
            raise CaptureError(f"{self.session.method} has no phase in epoch {self.session.epoch}")
        if key not in self._replays:
            work = partial(self._captured, size)
            compiles = is_worth_compiling(self.session, size)
            self._replays[key] = with_compiled_network(self.session, work) if compiles else work()
        return self._replays[key]

    def _captured(self, size: int) -> Replay:
        with self._undone():
            replay = self.capture(partial(self._step, size), self.place.zero_)
            self.place.zero_()
            replay()
            if int(self.place) != 1:
                raise CaptureError("replaying the captured step has no effect")
            return replay

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Undo all training inside the block, where the optimiser reads its learning rate from a tensor."""
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
        views = self._current(self.views, size * self._shape.numel())
        if self._last:
            channels, *space = self._shape
            views = views.view(size, *space, channels).permute(0, 3, 1, 2)
        views = views.view(size, *self._shape)
        numbers = self._current(self.numbers, _width(size))
        batch = Batch(views, label=numbers[:size], index=numbers[size:-1])
        with joint_casts(self.session):
            train_step(self.session, batch, views, self.rate, numbers[-1])
        self.place.add_(1)

    def _current(self, block: Tensor, width: int) -> Tensor:
        """The part of a block that belongs to the current batch."""
        count = len(block) // width
        return block[: count * width].view(count, width).index_select(0, self.place)[0]


def _width(size: int) -> int:
    """Number of integers stored per batch: labels, sample indices, and the number of the batch."""
    return 2 * size + 1


class Snapshot:
    """A copy of everything that training changes; ``restore`` writes into the existing tensors.

    A captured step reads and writes fixed addresses, so tensors must not be replaced. Optimiser state that
    was created after the copy is set to zero, as before the first step.

    Example:
        >>> from noiseproof.train import Config
        >>> from noiseproof.train.task import make_task
        >>> session = Session(config := Config(), make_task(config), torch.device("cpu"))
        >>> before = Snapshot(session)
        >>> _ = session.model.head.weight.data.zero_()
        >>> before.restore(session)
        >>> bool(session.model.head.weight.any())
        True
    """

    def __init__(self, session: Session) -> None:
        self._before = {name: values.clone() for name, values in _tensors(session).items()}

    def restore(self, session: Session) -> None:
        with torch.no_grad():
            for name, values in _tensors(session).items():
                values.copy_(self._before[name]) if name in self._before else values.zero_()


def _tensors(session: Session) -> dict[str, Tensor]:
    state = session.state()
    found, _ = flatten({part: state[part] for part in SNAPSHOT})
    return found | {"first_bad": session.first_bad}


class Steps(Protocol):
    """The interface of ``PlainSteps`` and ``GraphSteps``."""

    def epoch(self) -> Iterator[None]:
        """Run the rest of the current epoch; each item of the iterator is one step."""


def make_steps(session: Session) -> Steps:
    """Captured steps if possible and allowed by ``loop``; ValueError if ``loop="graph"`` is impossible."""
    wanted = session.config.loop
    reason = None if wanted == "plain" else obstacle(session)
    if wanted == "graph" and reason:
        raise ValueError(f"loop='graph' cannot be used: {reason}; use loop='auto'")
    if wanted == "plain" or reason:
        return PlainSteps(session)
    return GraphSteps(session, Captures(session.device)) if wanted == "graph" else GraphOrPlainSteps(session)


def obstacle(session: Session) -> str | None:
    """The reason why the steps of this session cannot be captured; None if they can."""
    if session.device.type != "cuda":
        return f"the device is {session.device}, but graphs need CUDA"
    if session.ranks.count > 1:
        return "several processes train this run"
    if streams(session.train.inputs):
        return "the training data is read from disk during training"
    if not all(isinstance(network, Classifier) for network in session.networks):
        return "the network is not from this library, so its steps may differ from each other"
    if any(is_random(module) for module in session.model.modules()):
        return "dropout draws from a random generator that all runs of a process share"
    if not declares_phases(session.method) or session.method.phase(session.epoch) is None:
        return f"{session.method} does not declare which epochs have equal steps (Method.phase)"
    if session.mixup or session.average or session.method.needs_unmixed:
        return "inputs are mixed or weights are averaged"
    if parse_optimizer(session.config.optimizer)[1].get("dampening"):
        return "with dampening the first step differs from the others"
    return None


def declares_phases(method: Method) -> bool:
    """Whether ``phase`` or ``same_every_epoch`` is defined in the class that defines ``loss``, or below it.

    A subclass that overrides only ``loss`` may need other phases than its base class.
    """
    for kind in type(method).__mro__:
        if {"phase", "same_every_epoch"} & vars(kind).keys():
            return True
        if "loss" in vars(kind):
            return False
    return False


def is_random(module: nn.Module) -> bool:
    return isinstance(module, _DropoutNd) and module.p > 0


class GraphOrPlainSteps:
    """Captured steps; if a capture fails, a warning and then plain steps."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.steps: Steps = GraphSteps(session, Captures(session.device))

    def epoch(self) -> Iterator[None]:
        try:
            yield from self.steps.epoch()
            return
        except CaptureError as problem:
            warnings.warn(f"{problem}: training continues without CUDA graphs", stacklevel=2)
        self.steps = PlainSteps(self.session)
        gc.collect()  # tensors of the failed capture belong to another stream
        yield from self.steps.epoch()
