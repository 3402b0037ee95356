"""Training steps: ``train_step``, and ``PlainSteps``, which runs it without capturing CUDA graphs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor, nn

from ..data import Batch, LabelledData
from ..data.inputs import streams
from ..devices.capture import capture_lock
from ..methods.mixed import loss_of_step
from .nan_guard import check_now, note_health
from .session import Session


def train_step(
    session: Session, batch: Batch, views: Tensor, lr: float | Tensor, number: int | Tensor
) -> None:
    """One training step: forward, backward, update, record.

    ``views`` are the inputs of the network, ``lr`` is the learning rate of the optimiser, ``number`` is the
    number of the batch in its epoch. All state is kept in tensors, so that a captured step can be replayed.
    """
    outputs = session.step_outputs(views)
    for one in outputs:
        one.logits.retain_grad()
        check_now(session, one.logits, batch, number, "logits")
    loss = loss_of_step(session.method, outputs, batch, session.epoch)
    check_now(session, loss, batch, number, "loss")
    for one in outputs:
        note_health(session, one.logits, loss, number)
    for weight in session.parameters:  # zero_grad would also run hooks
        weight.grad = None
    loss.backward()  # type: ignore[no-untyped-call]
    session.ranks.sum_gradients(session.model, session.method)
    if session.config.clip is not None:
        nn.utils.clip_grad_norm_(session.parameters, session.config.clip)
    session.update()
    session.observe(batch, outputs, loss, lr)


class PlainSteps:
    """Runs every step directly, without CUDA graphs, on any device."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def epoch(self) -> Iterator[None]:
        """Run the rest of the current epoch, one step per item."""
        session = self.session
        order = session.order()
        parts = [order[start:stop] for start, stop in session.bounds_left()]
        own = batches(session.train, map(session.read_here, parts), session.device)
        for part, batch in zip(parts, own, strict=True):
            lr = session.learning_rate()
            session.set_learning_rate(lr)
            with capture_lock:
                views = session.views.train(batch, session.epoch)
                train_step(session, session.whole(batch, part), views, lr, session.batch)
            session.count_step()
            yield


READ_AHEAD = 3
"""Number of batches read in advance, for data on disk."""


def batches(data: LabelledData, parts: Iterable[Tensor], device: torch.device) -> Iterator[Batch]:
    """One batch per tensor of positions, in order."""
    if isinstance(data.inputs, Tensor) and data.inputs.device == data.label.device:
        for part in parts:  # the positions are known to be valid, so checks are skipped
            batch = Batch(*(rows.index_select(0, part) for rows in (data.inputs, data.label, data.index)))
            yield batch if data.label.device == device else batch.to(device)
        return
    if not streams(data.inputs):
        yield from (data.batch(part, device=device) for part in parts)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="noiseproof-reader") as reader:
        waiting: deque[Future[Batch]] = deque()
        try:
            for part in parts:
                waiting.append(reader.submit(data.batch, part))
                if len(waiting) > READ_AHEAD:
                    yield waiting.popleft().result().to(device)
            while waiting:
                yield waiting.popleft().result().to(device)
        finally:
            for future in waiting:
                future.cancel()
