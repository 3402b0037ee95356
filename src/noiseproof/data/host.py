"""Where tensors are made that were not told where."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def on_the_cpu() -> AbstractContextManager[object]:
    """Inside, tensors are made on the CPU, whatever ``torch.set_default_device`` was called with.

    Data, records and random orders live there; what belongs on a GPU is put there by name.

    Example:
        >>> with torch.device("meta"), on_the_cpu():
        ...     torch.zeros(2).device
        device(type='cpu')
    """
    cpu = torch.device("cpu")
    return nullcontext() if torch.get_default_device() == cpu else cpu
