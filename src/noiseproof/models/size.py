"""The memory that a network needs, computed before it is allocated."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from ..memory import available_memory


class NetworkTooLargeError(MemoryError):
    """A network whose weights do not fit into memory."""


def check_size(make: Callable[[], nn.Module], spec: str) -> None:
    """NetworkTooLargeError if the weights do not fit; the system might kill the process without a message.

    Example:
        >>> check_size(lambda: nn.Linear(1 << 30, 1 << 30), "linear")
        Traceback (most recent call last):
        noiseproof.models.size.NetworkTooLargeError: the weights of linear need 4,398,046,515,200 MB, ...
    """
    needed = sum(tensor.nbytes for tensor in blueprint(make).values())
    available = available_memory()
    if needed > available:
        raise NetworkTooLargeError(
            f"the weights of {spec} need {needed >> 20:,} MB, {available >> 20:,} MB are available: choose a"
            " smaller network"
        )


def blueprint(make: Callable[[], nn.Module]) -> dict[str, torch.Tensor]:
    """The state dict of the network as tensors on the meta device, which have a shape but no values."""
    with torch.device("meta"):
        return dict(make().state_dict())
