"""Losses on a GPU: statistics and loss in one kernel, the gradient in another, nothing N x C beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from . import inplace, tracing
from .expressed import expressed_gradient, wants_expressions
from .programs import tables
from .programs.limit import is_worth_a_kernel
from .programs.recorder import Program, Recorded, Tape
from .reference import Statistics, Wanted
from .row_function import RowFunction

if TYPE_CHECKING:
    from .triton.launch_mean import Mean


class Recording(NamedTuple):
    """A program whose first result is the value; ``slots`` say which partial derivative the others are."""

    program: Program
    slots: tuple[int, ...]
    tables: tuple[Tensor, ...] = ()
    """Cubics the program looks values up in, in float64 on the CPU."""


class Call(NamedTuple):
    """What a fused loss needs beside the logits. Rows count by ``keep``, or else by ``ignore_index``."""

    target: Tensor
    function: RowFunction
    again: Callable[[Tensor], Tensor]
    """The same loss as a plain differentiable expression, for double backward."""
    recording: Recording | None
    keep: Tensor | None = None
    ignore_index: int | None = None
    mean: bool = False
    by_weight: bool = False
    """Divide by the mean weight of the batch, see ``launch_mean``: without ``keep`` and with a recording."""


def record(function: RowFunction) -> Recording | None:
    """The loss as a program for the kernels, or None if it does more than their programs can."""
    found = recorded(function)
    if found is None:
        return None
    program = tables.addressed(found.program, found.tables)
    return found._replace(program=program) if is_worth_a_kernel(program) else None


def recorded(function: RowFunction) -> Recording | None:
    """The loss as a program, or None if it does more than a program can."""
    inputs = 1 if function.wanted is None else 6
    tape = Tape(inputs)
    registers: list[Any] = [Recorded(tape, number) for number in range(inputs)]
    row = Statistics(*(registers * 5)[:5])
    try:
        value, partials = function.evaluate(row, registers[-1])
        program = tape.program(value, *partials.given())
    except Exception:
        return None
    return Recording(program, partials.slots(), tuple(tape.tables))


def fused_loss(logits: Tensor, call: Call) -> Tensor:
    """(N,) values, 0 where ignored, or their mean over the rows that count."""
    if inplace.allowed():
        inplace.check(logits)
    found: Tensor = _Fused.apply(logits, call, inplace.allowed())  # type: ignore[no-untyped-call]
    return found


def fused_statistics(logits: Tensor, target: Tensor) -> Statistics:
    """All row statistics, differentiable. (N, C), (N,) -> 5 x (N,)"""
    return Statistics(*_FusedStatistics.apply(logits, target))  # type: ignore[no-untyped-call]


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, call: Call, in_place: bool) -> Tensor:  # type: ignore[override]
        from .triton import launch_mean

        mean = launch_mean.mean_of(logits, call.by_weight) if call.mean or call.by_weight else None
        first, ctx.slots = first_pass(logits, call, mean)
        value, count = mean[:2] if mean is not None and call.mean else (first.values, None)
        ctx.call, ctx.in_place = call, in_place
        ctx.save_for_backward(logits, call.target, call.keep, first.state, first.partials, count)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        from .triton import launch

        logits, target, keep, state, partials, count = ctx.saved_tensors
        if wants_expressions(upstream):
            with tracing.plainly():
                grad = expressed_gradient(lambda: ctx.call.again(logits), logits, upstream)
            return grad, None, None
        batch = launch.Batch(logits, target, keep, ctx.call.ignore_index)
        grad = launch.gradient(batch, state, partials, ctx.slots, upstream, count, ctx.in_place)
        if ctx.in_place:
            torch.autograd.graph.increment_version(logits)
        return grad, None, None


def first_pass(logits: Tensor, call: Call, mean: Mean | None) -> tuple[Any, tuple[int, ...]]:
    """Statistics, values and partial derivatives, and which statistics these belong to."""
    from .triton import launch

    batch = launch.Batch(logits, call.target, call.keep, call.ignore_index)
    if call.recording is None:
        return _evaluate_with_torch(batch, call.function, mean)
    found, table = call.recording, _table(logits, call)
    first = launch.statistics(batch, call.function.wanted, found.program, tables=table, mean=mean)
    return first, found.slots


def _table(logits: Tensor, call: Call) -> Tensor | None:
    """All tables of the program together, where the logits are."""
    known = () if call.recording is None else call.recording.tables
    return tables.on_device(known, logits.device) if known else None


def _evaluate_with_torch(batch: Any, function: RowFunction, mean: Mean | None) -> tuple[Any, tuple[int, ...]]:
    from .triton import launch, launch_mean

    first = launch.statistics(batch, function.wanted)
    value, partials = function.evaluate(*launch.statistics_of(first.state))
    results = torch.stack([value.reshape(-1), *(p.reshape(-1) for p in partials.given())])
    if batch.keep is not None:
        results = torch.where(batch.keep, results, 0.0)
    found = launch.First(first.state, results[0].clone(), results[1:])
    if mean is not None:
        launch_mean.take(mean, found.values, found.partials, batch.target, launch.ignored_label(batch))
    return found, partials.slots()


class _FusedStatistics(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        from .triton import launch

        batch = launch.Batch(logits, target, torch.ones_like(target, dtype=torch.bool), None)
        state = launch.statistics(batch, Wanted(True, True, True), centred=False).state
        ctx.save_for_backward(*batch[:3], state)
        return tuple(state[row].clone() for row in launch.DIFFERENTIABLE)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        from . import differentiable
        from .triton import launch

        logits, target, keep, state = ctx.saved_tensors
        if wants_expressions(*upstream):
            grad = expressed_gradient(lambda: differentiable.statistics(logits, target), logits, upstream)
            return grad, None
        batch = launch.Batch(logits, target, keep, None)
        return launch.gradient(batch, state, torch.stack(upstream), (0, 1, 2, 3, 4)), None
