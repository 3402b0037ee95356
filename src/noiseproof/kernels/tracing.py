"""Which world a call runs in: plain eager torch, or a tracer or transform that forbids looking at values."""

import torch
from torch import Tensor


def in_transform() -> bool:
    """True inside ``torch.func`` transforms, where only ``setup_context`` style functions may run."""
    return bool(torch._C._are_functorch_transforms_active())


def is_plain_eager() -> bool:
    """True where a hand-written forward and backward pass may run."""
    return not torch.compiler.is_compiling() and not in_transform()


def values_can_be_checked(tensor: Tensor) -> bool:
    """True where reading a value costs no device synchronisation and breaks no graph."""
    return tensor.device.type == "cpu" and is_plain_eager()
