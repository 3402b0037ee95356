"""Batches in a given order; those that come from files are read ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from ..data import Batch, LabelledData
from ..data.inputs import streams

AHEAD = 3
"""Batches read before they are needed."""


def batches(data: LabelledData, parts: Iterable[Tensor], device: torch.device) -> Iterator[Batch]:
    """One batch for each tensor of positions, in order, whatever the number of threads."""
    if isinstance(data.inputs, Tensor) and data.inputs.device == data.label.device:
        for part in parts:  # positions that this library made need no checks
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
                if len(waiting) > AHEAD:
                    yield waiting.popleft().result().to(device)
            while waiting:
                yield waiting.popleft().result().to(device)
        finally:
            for future in waiting:
                future.cancel()
