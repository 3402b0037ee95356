"""Gradients: against finite differences, twice, again, and under torch's transforms."""

from __future__ import annotations

import torch

from ..losses import Loss
from .problem import assert_close, divides_by_the_batch, problem, value_and_gradient, variant


def check_gradient(loss: Loss) -> None:
    logits, target = problem(6)
    made = variant(loss)
    if divides_by_the_batch(loss):
        return
    assert torch.autograd.gradcheck(lambda z: made(z, target), logits.requires_grad_(), atol=1e-5)


def check_second_gradient(loss: Loss) -> None:
    logits, target = problem(4)
    made = variant(loss)
    if divides_by_the_batch(loss):
        return
    assert torch.autograd.gradgradcheck(lambda z: made(z, target), logits.requires_grad_(), atol=1e-5)


def check_backward_again(loss: Loss) -> None:
    logits, target = problem()
    made = variant(loss, reduction="none")
    leaf = logits.clone().requires_grad_()
    rows = made(leaf, target)
    upstream = torch.linspace(-1, 2, len(rows), dtype=rows.dtype)
    (first,) = torch.autograd.grad(rows, leaf, upstream, retain_graph=True)
    (second,) = torch.autograd.grad(rows, leaf, upstream, retain_graph=True)
    (triple,) = torch.autograd.grad(rows, leaf, 3 * upstream)
    assert torch.equal(first, second), "a second backward gives another gradient"
    assert_close(triple, 3 * first)


def check_transforms(loss: Loss) -> None:
    logits, target = problem()
    made = variant(loss)
    _, wanted = value_and_gradient(made, logits, target)
    assert_close(torch.func.grad(made)(logits, target), wanted)
    halves = logits.reshape(2, 6, -1), target.reshape(2, 6)
    found = torch.func.vmap(torch.func.grad(made))(*halves)
    for half in range(2):
        assert_close(found[half], value_and_gradient(made, halves[0][half], halves[1][half])[1])


def check_compile(loss: Loss) -> None:
    logits, target = problem()
    made = variant(loss, ignore_index=0)
    torch.compiler.reset()
    compiled = torch.compile(made, fullgraph=True, backend="aot_eager")
    value, gradient = value_and_gradient(made, logits, target)
    leaf = logits.clone().requires_grad_()
    found = compiled(leaf, target)
    found.backward()
    assert leaf.grad is not None
    assert_close(found.detach(), value)
    assert_close(leaf.grad, gradient)
