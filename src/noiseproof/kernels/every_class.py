r"""Losses that sum over all classes of a row: normalised focal loss and confidence regularisation.

They have no closed form in a few statistics, so they run as torch expressions of several N x C temporaries.
Rows are processed block by block and the gradient is formed in the forward pass, which bounds the extra
memory by three times the logits. For losses of the margin the gradient is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .checks import check_margins, located
from .expressions import accumulation_dtype, attach, class_margins, expressed_gradient, wants_expressions
from .torch_rows import BLOCK_ELEMENTS
from .tracing import is_plain_eager

LARGEST_MARGIN = 1e30
"""Margins are clamped to this, so that sums over classes masked with finfo.min stay finite."""
FEWEST_ELEMENTS = 1 << 20
PARTS = 32
"""A block on a device has one 32nd of the bytes of the logits in elements: a dozen temporaries then take less
than twice the memory of the logits."""

Expression: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""(n, C) logits and (n,) targets to (n,) values; each row by itself, differentiable."""
Gradient: TypeAlias = Callable[[Tensor, Tensor], "tuple[Tensor, Tensor]"]
"""The same to (n,) values and the (n, C) gradient of their sum."""
Evaluate: TypeAlias = Callable[[Tensor], "tuple[Tensor, Tensor]"]
"""Margins to values and emphases of a MarginLoss."""
Combine: TypeAlias = Callable[[Tensor, Tensor], "tuple[Tensor, Tensor]"]
"""Values (n, C) of all classes and labels (n, 1) to the loss (n, 1) and its derivatives (n, C)."""


def by_blocks(
    expression: Expression,
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    gradient: Gradient | None = None,
) -> Tensor:
    """``expression(logits, target)``, 0 where ``keep`` is False; the gradient is formed in the forward pass.

    Ignored rows reach the expression as zeros.
    """
    if not is_plain_eager():
        return _kept(expression, logits, target, keep)
    found: Tensor = _ByBlocks.apply(logits, target, keep, expression, gradient)  # type: ignore[no-untyped-call]
    return found


def _kept(expression: Expression, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
    if keep is None:
        return expression(logits, target)
    return torch.where(keep, expression(torch.where(keep.unsqueeze(-1), logits, 0.0), target), 0.0)


def blocks_of(logits: Tensor) -> Iterator[slice]:
    elements = BLOCK_ELEMENTS
    if logits.device.type != "cpu":
        elements = max(FEWEST_ELEMENTS, logits.numel() * logits.element_size() // PARTS)
    step = max(1, elements // logits.shape[1])
    for start in range(0, logits.shape[0], step):
        yield slice(start, start + step)


class _ByBlocks(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        logits: Tensor,
        target: Tensor,
        keep: Tensor | None,
        expression: Expression,
        gradient: Gradient | None,
    ) -> Tensor:
        ctx.expression, ctx.form = expression, gradient or _by_autograd(expression)
        ctx.save_for_backward(logits, target, keep)
        values, ctx.formed = _formed(ctx.form, logits, target, keep, ctx.needs_input_grad[0])
        return values

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        logits, target, keep = ctx.saved_tensors
        if wants_expressions(upstream):
            value = lambda: _kept(ctx.expression, logits, target, keep)  # noqa: E731
            return expressed_gradient(value, logits, upstream), None, None, None, None
        formed, ctx.formed = ctx.formed, None  # it becomes the gradient; another backward forms it again
        if formed is None:
            _, formed = _formed(ctx.form, logits, target, keep, True)
        return formed.mul_(upstream.unsqueeze(1)), None, None, None, None


def _formed(
    form: Gradient, logits: Tensor, target: Tensor, keep: Tensor | None, wanted: bool
) -> tuple[Tensor, Tensor | None]:
    """Values, and the gradient of their sum if it is wanted."""
    space = torch.empty_like(logits, memory_format=torch.contiguous_format) if wanted else None
    values = [logits.new_empty(0, dtype=accumulation_dtype(logits.dtype))]
    for part in blocks_of(logits):
        counts = None if keep is None else keep[part].unsqueeze(1)
        block = logits[part] if counts is None else torch.where(counts, logits[part], 0.0)
        with located(part.start):
            value, gradient = form(block, target[part])
        values.append(value if counts is None else torch.where(counts[:, 0], value, 0.0))
        if space is not None:
            space[part] = gradient if counts is None else torch.where(counts, gradient, 0.0)
    return torch.cat(values), space


def _by_autograd(expression: Expression) -> Gradient:
    def gradient(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            leaf = logits.detach().requires_grad_()
            value = expression(leaf, target)
            (slope,) = torch.autograd.grad(value.sum(), leaf)
        return value.detach(), slope

    return gradient


def class_values(evaluate: Evaluate, logits: Tensor) -> Tensor:
    """Values (n, C) of a loss of the margin for every class as if it were the label, 0 for masked classes."""
    masked = logits == -torch.inf
    margins = class_margins(logits).masked_fill(masked, 0.0)
    value, emphasis = evaluate(margins.clamp(-LARGEST_MARGIN, LARGEST_MARGIN))
    return attach(value, [margins], [-emphasis]).masked_fill(masked, 0.0)


def class_gradient(evaluate: Evaluate, combine: Combine) -> Gradient:
    r"""The gradient of a function of the losses :math:`v_k=\ell(\Delta_k)` of all classes, by hand.

    With E the emphasis of every class, :math:`R_k = E_k/(1-p_k)` and :math:`a_k = R_k\,\partial L/\partial
    v_k` it is :math:`p_j\sum_k a_k - a_j`. That of the likeliest class, where this would cancel, is minus the
    sum of the others.
    """

    def gradient(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        column = target.unsqueeze(1)
        margins = class_margins(logits)
        check_margins(margins.gather(1, column).squeeze(1), logits, target)
        masked = logits == -torch.inf
        margins = margins.masked_fill_(masked, 0.0).clamp_(-LARGEST_MARGIN, LARGEST_MARGIN)
        value, emphasis = evaluate(margins)
        loss, slope = combine(value.masked_fill(masked, 0.0), column)
        rest = torch.sigmoid(-margins).clamp_min_(torch.finfo(margins.dtype).tiny)
        slope = slope.mul(emphasis).div_(rest).masked_fill_(masked, 0.0)
        p = margins.sigmoid_().masked_fill_(masked, 0.0)
        top = p.argmax(1, keepdim=True)
        found = p.mul_(slope.sum(1, keepdim=True)).sub_(slope).scatter_(1, top, 0.0)
        return loss.squeeze(1), found.scatter_(1, top, -found.sum(1, keepdim=True))

    return gradient


def normalised(value: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
    """The value of the label over the sum of all; a :data:`Combine`."""
    own = value.gather(1, column)
    others = value.scatter(1, column, 0.0).sum(1, keepdim=True)
    total = own + others
    share = own / total
    return share, (-share / total).expand_as(value).scatter(1, column, (others / total) / total)


def less_blind(beta: float, prior: Tensor) -> Combine:
    """The value of the label less ``beta`` times the mean under labels drawn from ``prior``."""

    def combine(value: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
        blind = value @ prior.to(value.dtype).unsqueeze(1)
        slope = (
            (-beta * prior.to(value.dtype)).expand_as(value).scatter_add(1, column, torch.ones_like(blind))
        )
        return value.gather(1, column) - beta * blind, slope

    return combine
