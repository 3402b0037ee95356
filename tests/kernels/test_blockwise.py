import torch

from noiseproof.kernels import blockwise_rows


def rows(logits, target):
    return -(logits.softmax(1).gather(1, target[:, None]).squeeze(1) ** 2)


def gradient(logits, target):
    every = logits.softmax(1)
    own = every.gather(1, target[:, None])
    slope = 2 * own**2 * every
    return -(own.squeeze(1) ** 2), slope.scatter_add(1, target[:, None], -2 * own**2)


def test_same_as_the_whole_at_once():
    logits = torch.randn(300, 1000, dtype=torch.float64)
    target = torch.randint(1000, (300,))
    leaf, plain = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    upstream = torch.randn(300, dtype=torch.float64)
    found, wanted = blockwise_rows(rows, gradient, leaf, target), rows(plain, target)
    torch.testing.assert_close(found, wanted)
    for _ in range(2):
        (grad,) = torch.autograd.grad(found, leaf, upstream, retain_graph=True)
        (slope,) = torch.autograd.grad(wanted, plain, upstream, retain_graph=True)
        torch.testing.assert_close(grad, slope)


def test_twice_and_empty():
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 1, 2])
    assert torch.autograd.gradgradcheck(lambda z: blockwise_rows(rows, gradient, z, target), logits)
    assert blockwise_rows(rows, gradient, logits[:0], target[:0]).shape == (0,)
    with torch.no_grad():
        assert not blockwise_rows(rows, gradient, logits, target).requires_grad
