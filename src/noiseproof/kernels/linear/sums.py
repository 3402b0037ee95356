"""The gradients of hidden states, weight and bias, summed up chunk by chunk."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..differentiable import accumulation_dtype
from ..path import uses_kernels
from ..tracing import values_can_be_checked
from .chunks import slices, sum_dtype

SLAB_ENTRIES = 1 << 24


class Gradients(NamedTuple):
    """Of hidden states, weight and bias; None where nobody asked."""

    hidden: Tensor | None
    weight: Tensor | None
    bias: Tensor | None

    def times(self, factor: Tensor | None, dtypes: tuple[torch.dtype, ...]) -> "Gradients":
        """Multiplied by a scalar tensor in float32 or better and rounded once; overwrites its own memory."""
        return Gradients(*(g if g is None else _scaled(g, factor, d) for g, d in zip(self, dtypes)))  # noqa: B905


class GradientSums:
    """Takes the gradient of one chunk of logits after another.

    ``onto`` is a gradient of ``hidden`` that is there already: what is found is added to it, in its memory.
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
    elif total.is_cuda and total.dtype == torch.float32 and _sums_wide():
        torch.addmm(total, left, right, torch.float32, beta=0 if fresh else 1, out=total)  # type: ignore[call-overload]
    else:
        dtype = torch.float32 if left.dtype == torch.float16 else left.dtype  # a float16 product may overflow
        right = right.to(dtype)
        for rows in slices(total.shape[0], max(1, SLAB_ENTRIES // max(1, total.shape[1]))):
            part = left[rows].to(dtype) @ right
            total[rows] = part if fresh else total[rows] + part


def _sums_wide() -> bool:
    """Newer versions of torch add half precision products to a float32 sum in one step."""
    return hasattr(torch.ops.aten.addmm, "dtype_out")


def _scaled(gradient: Tensor, factor: Tensor | None, dtype: torch.dtype) -> Tensor:
    if factor is None or (values_can_be_checked(factor) and factor.item() == 1):
        return gradient.to(dtype)
    if gradient.dtype == dtype and uses_kernels(gradient):
        from ..triton.scale import scale

        scale(gradient, factor.float())
        return gradient
    out = gradient if gradient.dtype == dtype else torch.empty_like(gradient, dtype=dtype)
    step = max(1, SLAB_ENTRIES * gradient.shape[0] // max(1, gradient.numel()))
    column = factor.reshape([1] * gradient.dim())
    for rows in slices(gradient.shape[0], step):
        torch.mul(gradient[rows], column, out=out[rows])
    return out
