"""Row-wise losses of a linear layer whose logits are never stored."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from .chunks import rows_per_chunk
from .finish import finished, lifted, refuse_more_than_a_gradient
from .sums import Gradients
from .sweep import BlockFunction, Projection, values_and_gradients, values_of

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def outside_graphs(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Inside ``torch.compile`` the graph breaks here: traced as a whole, the logits would be stored."""
    if not torch.compiler.is_compiling():
        return function
    outside: Callable[Arguments, Result] = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
    return outside


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


def linear_total(projection: Projection, function: BlockFunction, share: Tensor) -> Tensor:
    """Sum of row values weighted by ``share`` (N,); its gradients are formed in the forward pass."""
    *tensors, dtype, chunk = projection
    wanted = torch.is_grad_enabled()
    total: Tensor = _LinearTotal.apply(*tensors, share, function, dtype, chunk, wanted)  # type: ignore[no-untyped-call]
    return total


def linear_rows(projection: Projection, function: BlockFunction) -> Tensor:
    """(N,) row values; the logits are made once more in the backward pass."""
    *tensors, dtype, chunk = projection
    rows: Tensor = _LinearRows.apply(*tensors, function, dtype, chunk)  # type: ignore[no-untyped-call]
    return rows


class _LinearTotal(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        share: Tensor,
        function: BlockFunction,
        dtype: torch.dtype,
        chunk: int,
        wanted: bool,
    ) -> Tensor:
        projection = Projection(hidden, weight, bias, dtype, chunk)
        ctx.settings, ctx.formed = (function, dtype, chunk), None
        if wanted and any(ctx.needs_input_grad[:3]):
            values, *ctx.formed = _form(projection, function, share, ctx.needs_input_grad[:3])
        else:
            values = values_of(projection, function)
        ctx.save_for_backward(hidden, weight, bias, share, values)
        return (values * share).sum()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        refuse_more_than_a_gradient(upstream)
        hidden, weight, bias, share, values = ctx.saved_tensors
        function, *settings = ctx.settings
        projection = Projection(hidden, weight, bias, *settings)
        formed, ctx.formed = ctx.formed, None  # it leaves as the gradient; another backward forms it anew
        if formed is None:
            _, *formed = _form(projection, function, share, ctx.needs_input_grad[:3])
        by_share = upstream * values if ctx.needs_input_grad[3] else None
        gradients, factor = formed
        return *finished(gradients, projection, upstream, factor), by_share, None, None, None, None


class _LinearRows(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        function: BlockFunction,
        dtype: torch.dtype,
        chunk: int,
    ) -> Tensor:
        ctx.settings = (function, dtype, chunk)
        ctx.save_for_backward(hidden, weight, bias)
        return values_of(Projection(hidden, weight, bias, dtype, chunk), function)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        refuse_more_than_a_gradient(upstream)
        hidden, weight, bias = ctx.saved_tensors
        function, *settings = ctx.settings
        projection = Projection(hidden, weight, bias, *settings)
        _, gradients, factor = _form(projection, function, upstream, ctx.needs_input_grad[:3])
        return *finished(gradients, projection, factor), None, None, None


def _form(
    projection: Projection, function: BlockFunction, share: Tensor, needed: tuple[bool, ...]
) -> tuple[Tensor, Gradients, Tensor | None]:
    """Values, gradients, and the factor these still lack."""
    if not any(needed):
        return share, Gradients(None, None, None), None
    share, factor = lifted(share, projection.dtype)
    return *values_and_gradients(projection, function, share, needed), factor
