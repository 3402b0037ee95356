r"""The same quantities as plain differentiable torch expressions.

They serve wherever a hand-written backward cannot: double backward, ``torch.func`` transforms and
``torch.compile``. All take logits whose last dimension is the class.
"""

import torch
from torch import Tensor

NEGATIVE_INFINITY = float("-inf")


def accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for half precision, the dtype itself otherwise."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def margin(logits: Tensor, target: Tensor) -> Tensor:
    r""":math:`\Delta = z_y - \log\sum_{j\ne y} e^{z_j}`, shape of ``target``."""
    wide = logits.to(accumulation_dtype(logits.dtype))
    column = target.unsqueeze(-1)
    others = wide.scatter(-1, column, NEGATIVE_INFINITY)
    return wide.gather(-1, column).squeeze(-1) - torch.logsumexp(others, -1)


def descent_direction(logits: Tensor, target: Tensor) -> Tensor:
    r""":math:`-\nabla_z\Delta`: softmax over the other classes, -1 at the label."""
    wide = logits.to(accumulation_dtype(logits.dtype))
    column = target.unsqueeze(-1)
    others = wide.scatter(-1, column, NEGATIVE_INFINITY)
    return torch.softmax(others, -1).scatter(-1, column, -1.0)


def class_margins(logits: Tensor) -> Tensor:
    r"""The margin of every class as if it were the label, shape of ``logits``.

    For all but the largest logit :math:`p_k \le 1/2`, so :math:`\log p_k - \log(1-p_k)` is exact
    there; the largest gets the masked form.
    """
    wide = logits.to(accumulation_dtype(logits.dtype))
    top = wide.argmax(-1)
    column = top.unsqueeze(-1)
    log_p = torch.log_softmax(wide, -1)
    below_half = log_p.scatter(-1, column, -1.0)
    lower = log_p - torch.log1p(-below_half.exp())
    return lower.scatter(-1, column, margin(wide, top).unsqueeze(-1))


def present_classes(logits: Tensor) -> Tensor:
    """How many classes of each row are not masked with -inf, as a float column."""
    count = (logits != NEGATIVE_INFINITY).sum(-1, keepdim=True)
    return count.to(accumulation_dtype(logits.dtype))


def attach(margin: Tensor, value: Tensor, emphasis: Tensor) -> Tensor:
    r"""``value`` whose derivative with respect to the margin is :math:`-` ``emphasis``.

    The gradient is the emphasis itself, never autograd through ``value``, which would underflow.
    """
    if torch.compiler.is_compiling():
        return value.detach() - emphasis.detach() * (margin - margin.detach())
    attached: Tensor = _Attach.apply(margin, value.detach(), emphasis)  # type: ignore[no-untyped-call]
    return attached


class _Attach(torch.autograd.Function):
    """Second derivatives flow through ``emphasis``, which is itself a function of the margin."""

    generate_vmap_rule = True

    @staticmethod
    def forward(margin: Tensor, value: Tensor, emphasis: Tensor) -> Tensor:  # type: ignore[override]
        return value.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(inputs[2])
        ctx.save_for_forward(inputs[2])

    @staticmethod
    def backward(ctx, upstream):  # type: ignore[no-untyped-def]
        (emphasis,) = ctx.saved_tensors
        return -upstream * emphasis, None, None

    @staticmethod
    def jvp(ctx, margin_tangent, _value, _emphasis):  # type: ignore[no-untyped-def]
        (emphasis,) = ctx.saved_tensors
        return -margin_tangent * emphasis


def statistics(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """margin, logsumexp, sum of z, of p squared and of p z over the classes that are not masked."""
    wide = logits.to(accumulation_dtype(logits.dtype))
    p = torch.softmax(wide, -1)
    present = wide.masked_fill(wide == NEGATIVE_INFINITY, 0.0)
    return (
        margin(wide, target),
        torch.logsumexp(wide, -1),
        present.sum(-1),
        (p * p).sum(-1),
        (p * present).sum(-1),
    )
