"""Recorded losses in Triton: one kernel for statistics, program and mean, another for the gradient.

Everything that depends only on the loss and the layout of its inputs is computed once and kept as a
:class:`Plan`. A later call allocates the result and one scratch buffer, and launches the compiled kernel
with addresses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor, is_legacy_batchedtensor

from .. import expressions, tracing
from ..expressions import expressed_gradient
from ..program import Recording, tables_on_device
from ..row_function import RowFunction
from .gradient import gradient_kernel
from .launch import (
    ALIGNMENT,
    Sizes,
    State,
    Ticket,
    bound,
    frequencies_sizes,
    gradient_sizes,
    next_ticket,
    start,
    statistics_sizes,
)
from .statistics import (
    MEAN_BY_WEIGHT,
    NO_MEAN,
    PLAIN_MEAN,
    frequencies_kernel,
    mean_kernel,
    statistics_kernel,
)

MAX_PLANS = 256
MAX_ROWS_OF_MEAN = 1 << 16
"""One program sums the batch; for more rows torch is faster."""
MEAN_BLOCK, MEAN_WARPS = 1024, 8
WORDS = 4
"""Bytes of a float32, and number of float32 between aligned addresses."""
_read_by_graphs: dict[int, Tensor] = {}
"""Tables that captured graphs read at every replay, never released."""


class Call(NamedTuple):
    """Arguments of a loss other than logits and labels."""

    plan: Plan
    function: RowFunction
    weights: Tensor | None
    inplace: bool


def loss(
    function: RowFunction,
    recording: Recording,
    logits: Tensor,
    target: Tensor,
    weights: Tensor | None,
    ignore_index: int,
    mean: bool,
    inplace: bool,
) -> Tensor:
    """The unreduced loss (N,), 0 where the label is ``ignore_index``, or its mean over the other rows.

    ``weights`` (C,) are float32; without them a weighted function uses label frequencies. A mean, or a loss
    divided by its batch mean, has at most ``MAX_ROWS_OF_MEAN`` rows.
    """
    target = target.contiguous()
    plan = plan_of(function, recording, logits, target, weights, ignore_index, mean)
    return run(logits, target, Call(plan, function, weights, inplace))


def run(logits: Tensor, target: Tensor, call: Call) -> Tensor:
    """Call the autograd function without the Python part of ``apply``, which only functorch needs."""
    apply = _Fused.apply if is_functorch_wrapped_tensor(logits) else _apply_in_c
    found: Tensor = apply(logits, target, call)
    return found


def into_gradient(
    function: RowFunction,
    recording: Recording,
    logits: Tensor,
    target: Tensor,
    weights: Tensor | None,
    ignore_index: int,
    share: Tensor,
) -> tuple[Tensor, Tensor | None]:
    """Values and their derivatives by the margin; ``logits`` become the gradient weighted by ``share``."""
    target, share = target.contiguous(), share.contiguous()
    plan = plan_of(function, recording, logits, target, weights, ignore_index, mean=False)
    scratch = logits.new_empty(plan.floats, dtype=torch.float32)
    value = logits.new_empty(plan.shape, dtype=torch.float32)
    plan.first(logits, target, weights, scratch, value)
    plan.second(logits, target, weights, scratch, share, out=logits)
    by_margin = plan.slots[0]
    begin = plan.partials + by_margin * plan.rows
    return value, None if by_margin < 0 else scratch[begin : begin + plan.rows]


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, call: Call) -> Tensor:  # type: ignore[override]
        plan, _, weights, _ = ctx.call = call
        scratch = logits.new_empty(plan.floats, dtype=torch.float32)
        value = logits.new_empty(plan.shape, dtype=torch.float32)
        plan.first(logits, target, weights, scratch, value)
        ctx.save_for_backward(logits, target, scratch)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        logits, target, scratch = ctx.saved_tensors
        plan, function, weights, inplace = ctx.call
        if torch.is_grad_enabled() or is_legacy_batchedtensor(upstream):  # wants_expressions, in fewer calls
            shares = plan.shares_of(weights, scratch)
            return plan.expressed_gradient(function, logits, target, shares, upstream), None, None
        out = logits if inplace else torch.empty_like(logits, memory_format=torch.contiguous_format)
        plan.second(logits, target, weights, scratch, upstream, out)
        if inplace:
            torch.autograd.graph.increment_version(logits)
        return out, None, None


_apply_in_c: Any = super(torch.autograd.Function, _Fused).apply  # type: ignore[misc]


def layout_of(logits: Tensor, target: Tensor, ignore_index: int, mean: bool) -> tuple[object, ...]:
    """The key of a plan: equal keys are launched with equal arguments, addresses aside."""
    return (
        logits.shape,
        logits.stride(),
        logits.dtype,
        logits.get_device(),
        logits.data_ptr() % ALIGNMENT,
        target.shape,
        target.stride(),
        target.dtype,
        target.get_device(),
        target.data_ptr() % ALIGNMENT,
        ignore_index,
        mean,
    )


def plan_of(
    function: RowFunction,
    recording: Recording,
    logits: Tensor,
    target: Tensor,
    weights: Tensor | None,
    ignore_index: int,
    mean: bool,
) -> Plan:
    """The plan for inputs of this layout, made at the first call."""
    key = layout_of(logits, target, ignore_index, mean)
    if weights is not None:
        key = (*key, weights.data_ptr() % ALIGNMENT)
    elif function.is_fixed:
        function.plans = recording.plans
    known: Plan | None = recording.plans.get(key)
    if known is None:
        if len(recording.plans) >= MAX_PLANS:
            recording.plans.clear()
        known = Plan(function, recording, logits, ignore_index, mean)
        recording.plans[key] = known
    return known


class Plan:
    """The launches of one loss on logits of one layout: two, or three if labels are counted."""

    def __init__(
        self,
        function: RowFunction,
        recording: Recording,
        logits: Tensor,
        ignore_index: int,
        mean: bool,
    ) -> None:
        (rows, self.classes), program = logits.shape, recording.for_kernels
        by_weight, weighted = function.divides_by_batch, function.weighted
        self.call = Call(self, function, None, False)
        self.rows, self.ignore_index, self.mean = rows, ignore_index, mean
        self.by_weight, self.weighted, self.slots = by_weight, weighted, recording.slots
        self.device = logits.get_device()
        self.shape = torch.Size(()) if mean else logits.shape[:1]
        self.mode = MEAN_BY_WEIGHT if by_weight else PLAIN_MEAN if mean else NO_MEAN
        self.sizes, self.sizes_without_ticket = (
            statistics_sizes(
                logits,
                wanted=recording.wanted,
                program=program,
                has_keep=False,
                ignore_index=ignore_index,
                mode=mode,
                weighted=weighted,
            )
            for mode in (self.mode, NO_MEAN)
        )
        self.values, self.partials, self.count = _ends(
            (3 if recording.wanted is None else len(State)) * rows, rows, (len(program.outputs) - 1) * rows
        )
        """Offsets in the scratch buffer, which begins with the state; the mean follows the count."""
        self.shares = self.count + WORDS if weighted else 0
        """Offset of the label frequencies."""
        self.floats = self.shares + self.classes if weighted else self.count + 2
        self.tables = tables_on_device(recording.tables, logits.device) if recording.tables else None
        self._first: Any = None
        self._counting: Any = None
        self._second: dict[tuple[object, ...], Any] = {}

    def shares_of(self, weights: Tensor | None, scratch: Tensor) -> Tensor | None:
        """The weights of the classes, which may be in ``scratch``; None if there are none."""
        if weights is not None or not self.weighted:
            return weights
        return scratch[self.shares : self.shares + self.classes]

    def _count(self, target: Tensor, scratch: Tensor) -> None:
        """Write label frequencies to ``scratch``."""
        if self._counting is not None:
            self._counting(self.device, target.data_ptr(), scratch.data_ptr() + WORDS * self.shares)
            return
        sizes = frequencies_sizes(self.rows, self.classes)
        self._counting = bound(start(frequencies_kernel, sizes, (target, scratch[self.shares :])), sizes, 2)

    def first(
        self, logits: Tensor, target: Tensor, weights: Tensor | None, scratch: Tensor, value: Tensor
    ) -> None:
        """Fill ``scratch`` and ``value``."""
        if weights is None and self.weighted:
            self._count(target, scratch)
        ticket = next_ticket(logits) if self.mode else None
        if self.tables is not None and is_capturing(self.tables):
            _read_by_graphs[self.tables.data_ptr()] = self.tables
        if self._first is None or (self.mode and ticket is None):
            self._compile_first(logits, target, weights, scratch, value, ticket)
            return
        base, found, label = scratch.data_ptr(), value.data_ptr(), target.data_ptr()
        self._first(
            self.device,
            logits.data_ptr(),
            label,
            label,
            base,
            base + WORDS * self.values if self.mean else found,
            base + WORDS * self.partials,
            base if self.tables is None else self.tables.data_ptr(),
            base + WORDS * self.shares if weights is None else weights.data_ptr(),
            base if ticket is None else ticket.address,
            found if self.mean else base + WORDS * self.count + WORDS,
            base + WORDS * self.count,
        )

    def _compile_first(
        self,
        logits: Tensor,
        target: Tensor,
        weights: Tensor | None,
        scratch: Tensor,
        value: Tensor,
        ticket: Ticket | None,
    ) -> None:
        """The same through Triton, which compiles the kernel; without a ticket the mean is another launch."""
        partials, count = scratch[self.partials : self.count], scratch[self.count :]
        values, mean = (scratch[self.values :], value) if self.mean else (value, count[1:])
        pointers = (
            *(logits, target, target, scratch, values, partials),
            scratch if self.tables is None else self.tables,
            scratch[self.shares :] if weights is None else weights,
            scratch if ticket is None else ticket.number,
            *(mean, count),
        )
        alone = bool(self.mode) and ticket is None
        sizes = self.sizes_without_ticket if alone else self.sizes
        compiled = start(statistics_kernel, sizes, pointers)
        if alone:
            sizes = Sizes((1, 1, 1), MEAN_WARPS, (self.rows, self.ignore_index, self.by_weight, MEAN_BLOCK))
            start(mean_kernel, sizes, (values, partials, target, mean, count))
        else:
            self._first = bound(compiled, sizes, len(pointers))

    def second(
        self,
        logits: Tensor,
        target: Tensor,
        weights: Tensor | None,
        scratch: Tensor,
        upstream: Tensor,
        out: Tensor,
    ) -> None:
        """Write the gradient to ``out``, which is contiguous or the logits themselves."""
        above, place = upstream.data_ptr(), out.data_ptr()
        stride = upstream.stride(0) if upstream.dim() else 0
        key = (stride, above % ALIGNMENT, place % ALIGNMENT, out is logits)
        launch = self._second.get(key)
        if launch is None:
            self._compile_second(logits, target, weights, scratch, upstream, out, key)
            return
        base, label = scratch.data_ptr(), target.data_ptr()
        launch(
            self.device,
            logits.data_ptr(),
            label,
            label,
            base,
            base + WORDS * self.partials,
            above,
            base + WORDS * self.count,
            base + WORDS * self.shares if weights is None else weights.data_ptr(),
            place,
        )

    def _compile_second(
        self,
        logits: Tensor,
        target: Tensor,
        weights: Tensor | None,
        scratch: Tensor,
        upstream: Tensor,
        out: Tensor,
        key: tuple[object, ...],
    ) -> None:
        sizes = gradient_sizes(
            logits,
            out.stride(),
            self.slots,
            has_keep=False,
            ignore_index=self.ignore_index,
            upstream_stride=upstream.stride(0) if upstream.dim() else 0,
            mean=self.mean,
            weighted=self.weighted,
        )
        partials, count = scratch[self.partials : self.count], scratch[self.count :]
        by_class = scratch[self.shares :] if weights is None else weights
        pointers = (logits, target, target, scratch, partials, upstream, count, by_class, out)
        self._second[key] = bound(start(gradient_kernel, sizes, pointers), sizes, len(pointers))

    def expressed_gradient(
        self,
        function: RowFunction,
        logits: Tensor,
        target: Tensor,
        weights: Tensor | None,
        upstream: Tensor,
    ) -> Tensor:
        """The gradient as an expression that can be differentiated again."""
        keep = target != self.ignore_index
        label = torch.where(keep, target, 0)

        def value() -> Tensor:
            rows = expressions.rows(function, logits, label, keep, weights)
            return rows.sum() / keep.sum().clamp_min(1) if self.mean else rows

        with tracing.expressions_only():
            return expressed_gradient(value, logits, upstream)


def _ends(*lengths: int) -> list[int]:
    """Where parts of these lengths end, each extended to an aligned address."""
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + -(-length // WORDS) * WORDS)
    return ends[1:]


def is_capturing(tensor: Tensor) -> bool:
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()
