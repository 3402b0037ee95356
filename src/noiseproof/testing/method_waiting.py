"""Detect reads of tensor values, which wait for an accelerator and cannot be captured in a CUDA graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..kernels import tracing

LOOKS = {"_local_scalar_dense", "nonzero", "masked_select", "unique2", "_unique2", "is_nonzero", "equal"}
MASKABLE = {"index", "index_put", "index_put_"}


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert name not in LOOKS, f"{name} reads a value"
        if name in MASKABLE:
            masks = [i for i in args[1] if i is not None and i.dtype in (torch.bool, torch.uint8)]
            assert not masks, f"{name} with a mask: its shape depends on values, use torch.where"
        return func(*args, **(kwargs or {}))


@contextmanager
def no_value_is_read() -> Iterator[None]:
    """Raise AssertionError where a value is read; checks that run on a CPU only are disabled."""
    with mock.patch.object(tracing, "is_plain_eager", return_value=False), _Watch():  # type: ignore[no-untyped-call]
        yield
