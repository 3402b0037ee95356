"""Overwriting logits with their gradient, which saves the memory of one N x C tensor."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch import Tensor


class _Permission(threading.local):
    given = False


permission = _Permission()


@contextlib.contextmanager
def inplace() -> Iterator[None]:
    """Context manager: losses called inside may overwrite the logits with the gradient in the backward pass.

    Only the GPU kernels do so. After the backward pass the logits hold the gradient. Torch's version
    counter is incremented, so that a node of the graph that saved the logits raises an error instead of using
    them, and so does a second backward pass. Logits that are a leaf of the graph (a parameter, or a tensor
    created with ``requires_grad``) or a view of one, and logits whose elements share memory, raise
    ValueError.

    Example:
        >>> import torch
        >>> from noiseproof import kernels, losses
        >>> hidden = torch.zeros(2, 3, requires_grad=True)
        >>> with kernels.inplace():
        ...     losses.get("mae")(hidden @ torch.ones(3, 4), torch.tensor([0, 1])).backward()
    """
    with _set(True):
        yield


@contextlib.contextmanager
def without_inplace() -> Iterator[None]:
    """Context manager for several losses that read the same logits, so that none may overwrite them."""
    if torch.compiler.is_compiling():
        yield
        return
    with _set(False):
        yield


@contextlib.contextmanager
def _set(given: bool) -> Iterator[None]:
    before, permission.given = permission.given, given
    try:
        yield
    finally:
        permission.given = before


def check(logits: Tensor) -> None:
    """Raise ValueError where overwriting these logits would corrupt other tensors."""
    whole = logits._base if logits._base is not None else logits
    if logits.requires_grad and whole.is_leaf and whole.requires_grad:
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
    """True unless the strides show that no two elements share an address."""
    reach = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride < reach:
            return True
        reach += stride * (size - 1)
    return False
