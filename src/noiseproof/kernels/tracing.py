"""Which world a call runs in: plain eager torch, or a tracer or transform that forbids looking at values."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad


class _Plainly(threading.local):
    asked = False


_plainly = _Plainly()


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Inside, losses are plain differentiable expressions, whatever the device."""
    before, _plainly.asked = _plainly.asked, True
    try:
        yield
    finally:
        _plainly.asked = before


def in_transform() -> bool:
    """True inside ``torch.func`` transforms, where only ``setup_context`` style functions may run."""
    return bool(torch._C._are_functorch_transforms_active())


def in_forward_mode() -> bool:
    """True inside ``torch.autograd.forward_ad``, whose tangents a hand-written pass would not know of."""
    return forward_ad._current_level >= 0


def is_plain_eager() -> bool:
    """True where a hand-written forward and backward pass may run."""
    return not (torch.compiler.is_compiling() or _plainly.asked or in_transform() or in_forward_mode())


def kernels_may_run() -> bool:
    """True in plain eager torch and, through their operators, under ``torch.compile``."""
    return torch.compiler.is_compiling() or is_plain_eager()


def values_can_be_checked(tensor: Tensor) -> bool:
    """True where reading a value costs no device synchronisation and breaks no graph."""
    return tensor.device.type == "cpu" and is_plain_eager() and not isinstance(tensor, FakeTensor)
