"""One walk over logits that are never stored: chunk by chunk they are made, judged and forgotten."""

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..differentiable import accumulation_dtype
from ..inplace import inplace_even_of_leaves
from ..path import uses_kernels
from .chunks import block_rows, slices
from .sums import Gradients, GradientSums


class BlockFunction(NamedTuple):
    """A block of logits (n, V) and which rows they are, to values (n,), each row by itself."""

    judge: Callable[[Tensor, slice], Tensor]
    """Differentiable."""
    reads_once: bool = False
    """True if its gradient may take the place of the logits: nothing else in it needs them."""


class Projection(NamedTuple):
    """Logits ``hidden @ weight.T + bias`` in a given precision, so many rows at a time."""

    hidden: Tensor
    weight: Tensor
    bias: Tensor | None
    dtype: torch.dtype
    chunk: int

    def chunks(self) -> list[slice]:
        return list(slices(self.hidden.shape[0], self.chunk))

    def cast(self) -> tuple[Tensor, Tensor | None]:
        return self.weight.to(self.dtype), None if self.bias is None else self.bias.to(self.dtype)


def values_of(projection: Projection, function: BlockFunction) -> Tensor:
    """(N,) values, no gradient."""
    weight, bias = projection.cast()
    found = [projection.hidden.new_zeros(0, dtype=accumulation_dtype(projection.dtype))]
    with torch.no_grad(), without_autocast(weight):
        for chunk in projection.chunks():
            logits = linear(projection.hidden[chunk].to(projection.dtype), weight, bias)
            for rows in blocks_of(logits, function.reads_once):
                found.append(_judge(function, logits[rows], chunk.start + rows.start))
            del logits
    return torch.cat(found)


def values_and_gradients(
    projection: Projection, function: BlockFunction, share: Tensor, needed: tuple[bool, ...]
) -> tuple[Tensor, Gradients]:
    """(N,) values, and the gradients of their sum weighted by ``share`` (N,)."""
    weight, bias = projection.cast()
    chunks = projection.chunks()
    sums = GradientSums(projection.hidden, projection.weight, projection.bias, needed, len(chunks))
    found = [projection.hidden.new_zeros(0, dtype=accumulation_dtype(projection.dtype))]
    with torch.no_grad(), without_autocast(weight):
        for chunk in chunks:
            hidden = projection.hidden[chunk].to(projection.dtype)
            logits = linear(hidden, weight, bias)
            for rows in blocks_of(logits, function.reads_once):
                start = chunk.start + rows.start
                found.append(_become_gradient(logits[rows], start, function, share))
            sums.add(chunk, hidden, weight, logits)
            del logits
    return torch.cat(found), sums.gradients()


def _become_gradient(logits: Tensor, start: int, function: BlockFunction, share: Tensor) -> Tensor:
    """Overwrite a block of logits with its gradient; returns the values."""
    leaf = logits.detach().requires_grad_()
    permission = inplace_even_of_leaves() if function.reads_once else contextlib.nullcontext()
    with torch.enable_grad(), permission:
        values = _judge(function, leaf.view_as(leaf), start)
    upstream = share[start : start + len(values)].to(values.dtype)
    (slope,) = torch.autograd.grad(values, leaf, upstream)
    if slope.data_ptr() != logits.data_ptr():
        logits.copy_(slope)
    return values.detach()


def _judge(function: BlockFunction, logits: Tensor, start: int) -> Tensor:
    with located(start):
        return function.judge(logits, slice(start, start + logits.shape[0]))


@contextlib.contextmanager
def located(start: int) -> Iterator[None]:
    """A complaint about a row of a block says where the block begins."""
    try:
        yield
    except ValueError as problem:
        if start == 0:
            raise
        raise ValueError(f"{problem} (rows counted from row {start} of the batch)") from problem


def blocks_of(logits: Tensor, in_place: bool) -> list[slice]:
    """Parts of a chunk, so that what is made of them stays small; kernels in place need none."""
    rows, classes = logits.shape
    whole = in_place and uses_kernels(logits)
    return list(slices(rows, rows if whole else block_rows(classes, logits.device)))


def without_autocast(tensor: Tensor) -> torch.autocast:
    return torch.autocast(tensor.device.type, enabled=False)
