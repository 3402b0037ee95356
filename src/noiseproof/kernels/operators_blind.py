"""The kernels of the blind loss as operators of torch.library, so that torch.compile keeps one graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import Tensor

from .programs.recorder import WIDTH, Operation, Program

MARGIN, BLIND, STATE_ROWS = 0, 3, 7
"""As in ``launch_blind``, which needs Triton."""


def blind_rows(
    logits: Tensor, target: Tensor, keep: Tensor, prior: Tensor | None, program: Program
) -> tuple[Tensor, Tensor]:
    """Margin and B, both (N,)."""
    code, outputs = [float(number) for number in program.code], list(program.outputs)
    state = _statistics(logits, target, keep, prior, code, outputs)
    return state[MARGIN], state[BLIND]


def _program(code: Sequence[float], outputs: Sequence[int]) -> Program:
    """Registers are whole numbers again, which they are not in a list of an operator."""
    places = range(0, len(code), WIDTH)
    is_constant = [code[start] == Operation.CONSTANT for start in places for _ in range(WIDTH)]
    numbers = [n if constant else int(n) for n, constant in zip(code, is_constant, strict=True)]
    for start in places:
        numbers[start] = int(code[start])
    return Program(tuple(numbers), tuple(outputs))


@torch.library.custom_op("noiseproof::blind_statistics", mutates_args=())
def _statistics(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    prior: Optional[Tensor],  # noqa: UP045 -- torch reads the annotation
    code: Sequence[float],
    outputs: Sequence[int],
) -> Tensor:
    from .triton import launch, launch_blind

    return launch_blind.blind(launch.Batch(logits, target, keep, None), prior, _program(code, outputs))


@_statistics.register_fake
def _(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    prior: Tensor | None,
    code: Sequence[float],
    outputs: Sequence[int],
) -> Tensor:
    return logits.new_empty((STATE_ROWS, logits.shape[0]), dtype=torch.float32)


@torch.library.custom_op("noiseproof::blind_gradient", mutates_args=())
def _gradient(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    prior: Optional[Tensor],  # noqa: UP045
    state: Tensor,
    slopes: Tensor,
    code: Sequence[float],
    outputs: Sequence[int],
) -> Tensor:
    from .triton import launch, launch_blind

    batch = launch.Batch(logits, target, keep, None)
    found = launch_blind.parts(state)
    return launch_blind.blind_gradient(batch, prior, _program(code, outputs), found, slopes)


@_gradient.register_fake
def _(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    prior: Tensor | None,
    state: Tensor,
    slopes: Tensor,
    code: Sequence[float],
    outputs: Sequence[int],
) -> Tensor:
    return torch.empty_like(logits, memory_format=torch.contiguous_format)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    logits, target, keep, prior, ctx.code, ctx.outputs = inputs
    ctx.save_for_backward(logits, target, keep, prior, output)


def _backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
    logits, target, keep, prior, state = ctx.saved_tensors
    slopes = torch.stack([upstream[MARGIN], upstream[BLIND]])
    grad = _gradient(logits, target, keep, prior, state, slopes, ctx.code, ctx.outputs)
    return grad, None, None, None, None, None


_statistics.register_autograd(_backward, setup_context=_remember)
