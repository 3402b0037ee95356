"""What both ways of the backward pass share: range of float16, the upstream factor, and what is refused."""

import torch
from torch import Tensor

from ..expressed import is_many
from .sums import Gradients
from .sweep import Projection

LIFT = 256.0


def lifted(share: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """``share`` and the factor it then lacks.

    In float16 a mean over many rows would underflow: there the largest share is meanwhile ``LIFT``.
    """
    if dtype != torch.float16 or share.numel() == 0:
        return share, None
    factor = share.abs().amax().clamp_min(torch.finfo(share.dtype).tiny) / LIFT
    return share / factor, factor


def finished(gradients: Gradients, projection: Projection, *factors: Tensor | None) -> Gradients:
    """Times the factors, and of the dtypes of what they are gradients of."""
    product: Tensor | None = None
    for factor in factors:
        if factor is not None:
            product = factor if product is None else product * factor
    dtypes = tuple(torch.float32 if t is None else t.dtype for t in projection[:3])
    return gradients.times(product, dtypes)


def refuse_more_than_a_gradient(upstream: Tensor) -> None:
    """Called in a backward pass: gradients formed by hand have no graph of their own, and come one by one."""
    problem = None
    if torch.is_grad_enabled():
        problem = "cannot be differentiated again (create_graph=True)"
    elif is_many(upstream):
        problem = "are formed for one upstream at a time (is_grads_batched=True)"
    if problem is not None:
        raise RuntimeError(
            f"gradients of a loss whose logits are never stored {problem}:"
            " use loss(F.linear(hidden, weight, bias), target)"
        )
