"""Permission to overwrite logits with their gradient, which saves the memory of one N x C tensor."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch import Tensor


class _Permission(threading.local):
    given = False
    of_leaves = False


_permission = _Permission()


@contextlib.contextmanager
def inplace() -> Iterator[None]:
    """Losses called inside may write their gradient over the logits in the backward pass.

    A permission, not a promise: only the GPU kernels use it. After the backward pass the logits hold
    the gradient. Torch's version counter is raised, so a node of the graph that kept the logits
    complains instead of using them, and so does a second backward pass. Refused at once are logits that are
    a leaf of the graph (a parameter, or a tensor made with ``requires_grad``) or a view of one, and logits
    whose elements share memory.

    Example:
        >>> import torch
        >>> from noiseproof import kernels, losses
        >>> hidden = torch.zeros(2, 3, requires_grad=True)
        >>> with kernels.inplace():
        ...     losses.get("mae")(hidden @ torch.ones(3, 4), torch.tensor([0, 1])).backward()
    """
    with _changed(given=True):
        yield


@contextlib.contextmanager
def inplace_even_of_leaves() -> Iterator[None]:
    """The same for logits of our own, whose leaf nobody else sees."""
    with _changed(given=True, of_leaves=True):
        yield


@contextlib.contextmanager
def withheld() -> Iterator[None]:
    """Inside, several losses look at the same logits, so none may overwrite them."""
    if torch.compiler.is_compiling():  # where nobody asks
        yield
        return
    with _changed(given=False):
        yield


@contextlib.contextmanager
def _changed(**words: bool) -> Iterator[None]:
    before = {name: getattr(_permission, name) for name in words}
    vars(_permission).update(words)
    try:
        yield
    finally:
        vars(_permission).update(before)


def allowed() -> bool:
    return _permission.given


def check(logits: Tensor) -> None:
    """Raise ValueError where overwriting these logits would corrupt something."""
    whole = logits._base if logits._base is not None else logits
    if logits.requires_grad and whole.is_leaf and whole.requires_grad and not _permission.of_leaves:
        raise ValueError(
            "kernels.inplace() would overwrite logits that are a leaf of the graph or a view of one: call the"
            " loss on the output of a model, or without inplace"
        )
    if shares_memory(logits):
        raise ValueError(
            f"kernels.inplace() cannot overwrite logits of shape {tuple(logits.shape)} and strides"
            f" {logits.stride()}: some of their elements share memory; call .contiguous() first"
        )


def shares_memory(tensor: Tensor) -> bool:
    """True unless the strides alone show that every element has its own place."""
    reach = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride < reach:
            return True
        reach += stride * (size - 1)
    return False
