r"""Losses that sum over all classes of a row: normalised focal loss and confidence regularisation.

They have no closed form in a few statistics, so they run as torch expressions of several N x C temporaries.
Rows are processed block by block and the gradient is formed in the forward pass, which bounds the extra
memory by three times the logits. For losses of the margin the gradient is written by hand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .checks import check_margins, located
from .expressions import (
    NEGATIVE_INFINITY,
    accumulation_dtype,
    attach,
    class_margins,
    expressed_gradient,
    wants_expressions,
)
from .program import Recording, instructions_of, recording_of, run_instruction
from .recorder import Operation
from .row_function import RowFunction, Statistics
from .torch_rows import BLOCK_ELEMENTS
from .tracing import is_plain_eager, values_can_be_checked

MAX_MARGIN = 1e30
"""Margins are clamped to this, so that sums over classes masked with finfo.min stay finite."""
MIN_ELEMENTS = 1 << 20
PARTS = 64
"""A block on a device has one 64th of the bytes of the logits in elements: two dozen temporaries then take
less than twice the memory of the logits."""

Expression: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""A differentiable function of (n, C) logits and (n,) targets that returns (n,) values, row by row."""
Gradient: TypeAlias = Callable[[Tensor, Tensor], "tuple[Tensor, Tensor]"]
"""The same, but returns (n,) values and the (n, C) gradient of their sum."""
Combine: TypeAlias = Callable[[Tensor, Tensor], "tuple[Tensor, Tensor]"]
"""A function of values (n, C) of all classes and labels (n, 1): the loss (n, 1), its derivatives (n, C)."""


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
        elements = max(MIN_ELEMENTS, logits.numel() * logits.element_size() // PARTS)
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
        formed, ctx.formed = ctx.formed, None  # the gradient; another backward pass computes it again
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


def class_values(function: RowFunction, logits: Tensor) -> Tensor:
    """Values (n, C) of a loss of the margin for every class as if it were the label, 0 for masked classes."""
    masked = logits == NEGATIVE_INFINITY
    margins = class_margins(logits).masked_fill(masked, 0.0)
    near = margins.clamp(-MAX_MARGIN, MAX_MARGIN)
    value, partials = function(Statistics(*[near] * 5), near, 1.0)
    return attach(value, [margins], partials.given()).masked_fill(masked, 0.0)


def class_gradient(function: RowFunction, combine: Combine) -> Gradient:
    r"""The closed-form gradient of a function of the losses :math:`v_k=\ell(\Delta_k)` of all classes.

    With E the emphasis of every class, :math:`R_k = E_k/(1-p_k)` and
    :math:`a_k = R_k\,\partial L/\partial v_k` it is :math:`p_j\sum_k a_k - a_j`. That of the likeliest class,
    where this would cancel, is minus the sum of the others.
    """

    def gradient(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        column, every = target.unsqueeze(1), ClassShares(logits)
        check_margins(every.margin_of(column), logits, target)
        value, slope = every.evaluate(function)
        if every.masked is not None:
            value = value.masked_fill(every.masked, 0.0)
        loss, by_value = combine(value, column)
        tiny = torch.finfo(value.dtype).tiny
        minus_a = slope.mul(by_value).div_(every.rest.clamp_min(tiny))
        if every.masked is not None:
            minus_a.masked_fill_(every.masked, 0.0)
        found = minus_a.sub_(every.p * minus_a.sum(1, keepdim=True)).scatter_(1, every.top, 0.0)
        return loss.squeeze(1), found.scatter_(1, every.top, -found.sum(1, keepdim=True))

    return gradient


class ClassShares:
    """p, 1 - p and their logarithms for every class of a block of rows, each computed on first access.

    Exact for the likeliest class too: exponentials are relative to the largest of the other logits.
    """

    def __init__(self, logits: Tensor) -> None:
        wide = logits.to(accumulation_dtype(logits.dtype))
        self.top = wide.argmax(1, keepdim=True)
        second = wide.scatter(1, self.top, NEGATIVE_INFINITY).amax(1, keepdim=True)
        gap = wide.gather(1, self.top) - second
        self._below = wide - second
        self._raised = self._below.exp().scatter_(1, self.top, 0.0)
        log_others = self._raised.sum(1, keepdim=True).log()
        self._exact_top_margin = gap - log_others
        self._top_margin = self._exact_top_margin.clamp(max=MAX_MARGIN)
        self._log_total = torch.logaddexp(gap, log_others)
        self.masked = logits == NEGATIVE_INFINITY if _may_be_masked(logits) else None

    def margin_of(self, column: Tensor) -> Tensor:
        """Margins (n,) of the classes (n, 1), infinite where they overflow."""
        log_p = self._below.gather(1, column) - self._log_total
        lower = log_p - torch.log1p(-log_p.exp().clamp_max(0.5))
        return torch.where(column == self.top, self._exact_top_margin, lower).squeeze(1)

    @functools.cached_property
    def log_p(self) -> Tensor:
        lower = (self._below - self._log_total).clamp_min_(-MAX_MARGIN)
        return lower.scatter_(1, self.top, logsigmoid(self._top_margin))

    @functools.cached_property
    def p(self) -> Tensor:
        return (self._raised * (-self._log_total).exp()).scatter_(1, self.top, self._top_margin.sigmoid())

    @functools.cached_property
    def rest(self) -> Tensor:
        return (1 - self.p).scatter_(1, self.top, (-self._top_margin).sigmoid())

    @functools.cached_property
    def log_rest(self) -> Tensor:
        below_half = self.p.scatter(1, self.top, 0.0)
        return below_half.neg_().log1p_().scatter_(1, self.top, logsigmoid(-self._top_margin))

    @functools.cached_property
    def margin(self) -> Tensor:
        return (self.log_p - self.log_rest).scatter_(1, self.top, self._top_margin)

    def evaluate(self, function: RowFunction) -> tuple[Tensor, Tensor]:
        """Values and their derivatives by the margin; a recorded program reads p instead of computing it."""
        recording = recording_of(function)
        if recording is None:
            value, partials = function(Statistics(*[self.margin] * 5), self.margin, 1.0)
            return value, partials.given()[0]
        value, slope = self._replay(recording)
        return value.expand_as(self._below), slope.expand_as(self._below)

    def _replay(self, recording: Recording) -> tuple[Tensor, Tensor]:
        """Run a program of the margin, register 0, reusing the sigmoids and their logarithms."""
        negated: set[int] = set()
        registers: list[Any] = [None]

        def read(register: float) -> Tensor:
            if register == 0:
                return self.margin
            found: Tensor = -self.margin if register in negated else registers[int(register)]
            return found

        for operation, *operands in instructions_of(recording.program):
            kind, first = Operation(int(operation)), operands[0]
            if kind in (Operation.SIGMOID, Operation.LOGSIGMOID) and (first == 0 or first in negated):
                names = ("rest", "log_rest") if first in negated else ("p", "log_p")
                registers.append(getattr(self, names[kind == Operation.LOGSIGMOID]))
            elif kind == Operation.NEGATIVE and first == 0:
                negated.add(len(registers))
                registers.append(None)
            else:
                registers.append(run_instruction(kind, operands, read, self._below, recording.tables))
        value, slope = (read(number) for number in recording.program.outputs)
        return value, slope


def _may_be_masked(logits: Tensor) -> bool:
    """False if it is known, without synchronising with a device, that no class is masked."""
    return not values_can_be_checked(logits) or bool(
        (logits.amin() if logits.numel() else 0) == NEGATIVE_INFINITY
    )


def normalised(value: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
    """The value of the label over the sum of all; a :data:`Combine`."""
    own = value.gather(1, column)
    others = value.scatter(1, column, 0.0).sum(1, keepdim=True)
    total = own + others
    share = own / total
    return share, (-share / total).expand_as(value).scatter(1, column, (others / total) / total)


def minus_prior_loss(beta: float, prior: Tensor) -> Combine:
    """The value of the label minus ``beta`` times the mean value of labels drawn from ``prior``."""

    def combine(value: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
        blind = value @ prior.to(value.dtype).unsqueeze(1)
        slope = (
            (-beta * prior.to(value.dtype)).expand_as(value).scatter_add(1, column, torch.ones_like(blind))
        )
        return value.gather(1, column) - beta * blind, slope

    return combine
