r"""Chunks of logits of a linear layer, and the gradients summed over them.

Every chunk reads and writes the whole gradient of the weight (V x H numbers), so few large chunks are
fast; and sums kept in bfloat16 round once per chunk, so few chunks are exact. The rule for N rows:

* a quarter of the rows, that is a quarter of the logits, overwritten in place by their own gradient;
* for N > 12 H, where even a quarter is more than a float32 copy of the weight: H rows, as many logits
  as the weight has entries, and a gradient summed in float32;
* never fewer than H/8 rows or 2\ :sup:`23` logits, small compared with the weight or in absolute terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, ParamSpec, TypeVar

import torch
from torch import Tensor

from ..apply import uses_triton
from ..expressions import accumulation_dtype, is_batched
from ..tracing import values_can_be_checked

PARTS = 4
LONG_BATCH = 12
FREE_LOGITS = 1 << 23
CPU_BLOCK_LOGITS = 1 << 19
"""Logits that a loss processes at a time inside a chunk: as many as fit into a cache."""
DEVICE_BLOCK_LOGITS = 1 << 25
SLAB_ENTRIES = 1 << 24
MAX_FLOAT16_SHARE = 256.0

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def rows_per_chunk(rows: int, width: int, classes: int) -> int:
    """Number of rows per chunk by the rule in the module docstring.

    >>> rows_per_chunk(8192, 4096, 128256), rows_per_chunk(131072, 4096, 128256)
    (2048, 4096)
    >>> rows_per_chunk(128, 512, 10)
    128
    """
    quarter = -(-rows // PARTS)
    wanted = quarter if rows <= LONG_BATCH * width else width
    return max(1, min(rows, max(wanted, width // 8, FREE_LOGITS // classes)))


def slices(count: int, step: int) -> Iterator[slice]:
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def blocks_of(logits: Tensor, whole: bool) -> list[slice]:
    """Parts of a chunk, so that temporaries stay small; ``whole`` is for kernels that work in place."""
    rows, classes = logits.shape
    if whole and uses_triton(logits):
        return list(slices(rows, rows))
    block = CPU_BLOCK_LOGITS if logits.device.type == "cpu" else DEVICE_BLOCK_LOGITS
    return list(slices(rows, max(1, block // classes)))


def sum_dtype(dtype: torch.dtype, chunks: int) -> torch.dtype:
    """Dtype of sums over chunks: float16 would overflow, bfloat16 would round at every chunk."""
    if dtype == torch.bfloat16 and chunks <= PARTS:
        return dtype
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


class Projection(NamedTuple):
    """Logits ``hidden @ weight.T + bias`` in a given precision, ``chunk`` rows at a time."""

    hidden: Tensor
    weight: Tensor
    bias: Tensor | None
    dtype: torch.dtype
    chunk: int

    def chunks(self) -> list[slice]:
        return list(slices(self.hidden.shape[0], self.chunk))

    def cast(self) -> tuple[Tensor, Tensor | None]:
        return self.weight.to(self.dtype), None if self.bias is None else self.bias.to(self.dtype)


def project(hidden: Tensor, weight: Tensor, bias: Tensor | None, chunk: int | None = None) -> Projection:
    """The projection of (N, H) hidden states in the precision ``F.linear`` would use, autocast included."""
    device = hidden.device.type
    dtype = hidden.dtype
    if torch.is_autocast_enabled(device) and torch.float64 not in (hidden.dtype, weight.dtype):
        dtype = torch.get_autocast_dtype(device)
    elif weight.dtype != dtype:
        raise TypeError(f"hidden is {dtype} but weight is {weight.dtype}: convert one, or use autocast")
    elif bias is not None and bias.dtype != dtype:
        raise TypeError(f"hidden is {dtype} but bias is {bias.dtype}: convert one, or use autocast")
    rows, width = hidden.shape
    step = rows_per_chunk(rows, width, weight.shape[0]) if chunk is None else chunk
    return Projection(hidden, weight, bias, dtype, step)


def without_autocast(tensor: Tensor) -> torch.autocast:
    return torch.autocast(tensor.device.type, enabled=False)


def outside_graphs(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Break the graph of ``torch.compile`` here: a traced function would store the logits."""
    if not torch.compiler.is_compiling():
        return function
    outside: Callable[Arguments, Result] = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
    return outside


class Gradients(NamedTuple):
    """Gradients of hidden states, weight and bias; None where not needed."""

    hidden: Tensor | None
    weight: Tensor | None
    bias: Tensor | None

    def finished(self, projection: Projection, *factors: Tensor | None) -> Gradients:
        """Gradients times the factors, in float32 or better, rounded once to the dtypes of the inputs."""
        product: Tensor | None = None
        for factor in factors:
            if factor is not None:
                product = factor if product is None else product * factor
        pairs = zip(self, projection[:3], strict=True)
        return Gradients(
            *(None if g is None or t is None else _scaled(g, product, t.dtype) for g, t in pairs)
        )


class GradientSums:
    """Sums of gradients over chunks of logits.

    ``onto`` is an existing gradient of ``hidden`` that is added to in place.
    """

    def __init__(
        self,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        needed: tuple[bool, ...],
        chunks: int,
        onto: Tensor | None = None,
    ) -> None:
        contiguous = torch.contiguous_format
        self._adds = onto is not None
        self.hidden = onto
        if needed[0] and onto is None:
            self.hidden = torch.empty_like(hidden, memory_format=contiguous)
        self.weight = self.bias = None
        if needed[1]:
            dtype = sum_dtype(weight.dtype, chunks)
            self.weight = torch.empty_like(weight, dtype=dtype, memory_format=contiguous)
        if bias is not None and needed[2]:
            self.bias = torch.zeros_like(bias, dtype=accumulation_dtype(bias.dtype))
        if chunks == 0 and self.weight is not None:
            self.weight.zero_()

    def add(self, rows: slice, hidden: Tensor, weight: Tensor, slope: Tensor) -> None:
        """``slope`` is the gradient of the logits of these rows."""
        if self.hidden is not None:
            _product(self.hidden[rows], slope, weight, fresh=not self._adds)
        if self.weight is not None:
            _product(self.weight, slope.t(), hidden, fresh=rows.start == 0)
        if self.bias is not None:
            self.bias += slope.sum(0, dtype=self.bias.dtype)

    def gradients(self) -> Gradients:
        return Gradients(self.hidden, self.weight, self.bias)


def _product(total: Tensor, left: Tensor, right: Tensor, *, fresh: bool) -> None:
    """``total`` (+)= ``left @ right``, also where ``total`` is wider than the factors."""
    if total.dtype == left.dtype:
        torch.addmm(total, left, right, beta=0 if fresh else 1, out=total)
    elif total.is_cuda and total.dtype == torch.float32 and hasattr(torch.ops.aten.addmm, "dtype_out"):
        torch.addmm(total, left, right, torch.float32, beta=0 if fresh else 1, out=total)  # type: ignore[call-overload]
    else:
        dtype = torch.float32 if left.dtype == torch.float16 else left.dtype  # a float16 product may overflow
        right = right.to(dtype)
        for rows in slices(total.shape[0], max(1, SLAB_ENTRIES // max(1, total.shape[1]))):
            part = left[rows].to(dtype) @ right
            total[rows] = part if fresh else total[rows] + part


def _scaled(gradient: Tensor, factor: Tensor | None, dtype: torch.dtype) -> Tensor:
    """The gradient times the factor; overwrites the gradient if it already has this dtype."""
    if factor is None or (values_can_be_checked(factor) and factor.item() == 1):
        return gradient.to(dtype)
    if gradient.dtype == dtype and uses_triton(gradient):
        from ..triton.launch import scale

        scale(gradient, factor.float())
        return gradient
    out = gradient if gradient.dtype == dtype else torch.empty_like(gradient, dtype=dtype)
    step = max(1, SLAB_ENTRIES * gradient.shape[0] // max(1, gradient.numel()))
    column = factor.reshape([1] * gradient.dim())
    for rows in slices(gradient.shape[0], step):
        torch.mul(gradient[rows], column, out=out[rows])
    return out


def scaled_for_float16(share: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """``share`` divided by a factor, and that factor; None for 1.

    In float16 the shares of a mean over many rows would underflow, so the largest is scaled to
    ``MAX_FLOAT16_SHARE``.
    """
    if dtype != torch.float16 or share.numel() == 0:
        return share, None
    factor = share.abs().amax().clamp_min(torch.finfo(share.dtype).tiny) / MAX_FLOAT16_SHARE
    return share / factor, factor


def check_upstream(upstream: Tensor) -> None:
    """Raise RuntimeError in a backward pass that hand-written gradients do not support."""
    problem = None
    if torch.is_grad_enabled():
        problem = "cannot be differentiated again (create_graph=True)"
    elif is_batched(upstream):
        problem = "are computed for one upstream gradient at a time (is_grads_batched=True)"
    if problem is not None:
        raise RuntimeError(
            f"gradients of a loss whose logits are never stored {problem}:"
            " use loss(F.linear(hidden, weight, bias), target)"
        )
