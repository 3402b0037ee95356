"""The compiled launcher: loaded if it was built, never built here."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .. import build, path, tracing
from ..inplace import allowed as may_overwrite
from ..tickets import next_ticket

DRIVER = "libcuda.so.1"
Again = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""A loss of logits, labels and what it kept of the first pass, as a plain differentiable expression."""
_NOT_TRIED: Any = object()
_loading = threading.Lock()
_loss: Any = _NOT_TRIED
"""The operator, None if it is not there."""
expressions: dict[int, Again] = {}
"""By the number of the loss, for whoever differentiates a gradient."""


def takes(logits: Tensor) -> bool:
    """Whether the launcher is there and may be given these logits."""
    return (
        logits.is_cuda
        and (_loss if _loss is not _NOT_TRIED else load()) is not None
        and path.enabled
        and type(logits) is Tensor
        and not may_overwrite()
        and tracing.is_plain_eager()
        and not has_hooks()
        and logits.get_device() == torch._C._cuda_getDevice()
    )


def has_hooks() -> bool:
    """Whether saved tensors are kept elsewhere or computed again, which wants the same of every call."""
    return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


def run(logits: Tensor, target: Tensor, given: Tensor | None, number: int) -> Tensor | None:
    """The mean loss, (); None if nobody has shown how to do it for such logits. ``given``: see ``Lesson``."""
    ticket = next_ticket(logits)
    if ticket is None:
        return None
    found: Tensor | None = _loss(logits, target, given, number, stream_of(logits), ticket.address)
    return found


def stream_of(logits: Tensor) -> int:
    stream: int = torch._C._cuda_getCurrentRawStream(logits.get_device())
    return stream


def load() -> Any:
    """The operator if it was built, else None. Losses ask once per process."""
    global _loss
    with _loading:
        if _loss is _NOT_TRIED or _loss is None:
            there = sys.platform == "linux" and build.problem(build.LAUNCHER) is None
            _loss = _opened() if there else None
        return _loss


def _opened() -> Any:
    try:
        launch = ctypes.CDLL(DRIVER).cuLaunchKernel
        return opened(ctypes.cast(launch, ctypes.c_void_p).value)
    except (OSError, AttributeError):
        return None


def opened(launch: int | None) -> Any:
    """The operator; ``launch`` is the address of cuLaunchKernel."""
    torch.ops.load_library(str(build.library(build.LAUNCHER)))  # type: ignore[no-untyped-call]
    torch.ops.noiseproof_launcher.use(launch)
    torch.library.impl("noiseproof_launcher::again", "CompositeImplicitAutograd")(_again)
    return torch.ops.noiseproof_launcher.loss.default._op


def _again(logits: Tensor, target: Tensor, kept: Tensor | None, upstream: Tensor, number: int) -> Tensor:
    """The gradient as an expression that can itself be differentiated."""
    with tracing.plainly():
        value = expressions[number](logits, target, kept)
    (gradient,) = torch.autograd.grad(value, logits, upstream, create_graph=True)
    return gradient


def state() -> str:
    """One sentence for people: are kernels launched without Python, and if not, what to do."""
    if not torch.cuda.is_available():
        return "off: there is no CUDA device"
    problem = build.problem(build.LAUNCHER)
    return "on: losses seen once are launched without Python" if problem is None else f"off: {problem}"
