"""Whether a call runs in plain eager torch, or under a tracer or transform that must not read values."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad


class _Expressions(threading.local):
    only = False


_expressions = _Expressions()


@contextlib.contextmanager
def expressions_only() -> Iterator[None]:
    """Context manager in which losses are plain differentiable expressions on every device."""
    before, _expressions.only = _expressions.only, True
    try:
        yield
    finally:
        _expressions.only = before


def in_transform() -> bool:
    """True inside ``torch.func`` transforms, which support only ``setup_context`` style functions."""
    return bool(torch._C._are_functorch_transforms_active())


def is_plain_eager() -> bool:
    """True where a hand-written forward and backward pass may run.

    Not inside forward-mode automatic differentiation either: a hand-written pass has no tangents.
    """
    return not (
        torch.compiler.is_compiling()
        or _expressions.only
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def values_can_be_checked(tensor: Tensor) -> bool:
    """True where reading a value neither synchronises with a device nor breaks a graph."""
    return tensor.device.type == "cpu" and is_plain_eager() and not isinstance(tensor, FakeTensor)
