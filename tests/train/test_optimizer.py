"""Optimizers by name."""

import pytest
import torch
from torch import nn

from noiseproof.train.optimizer import make_optimizer, parse_optimizer

SAME = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.8, weight_decay=0.01),
    "sgd(nesterov=True)": lambda p: torch.optim.SGD(p, 0.1, momentum=0.8, weight_decay=0.01, nesterov=True),
    "adam(eps=0.1)": lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.01, eps=0.1),
    "adam(beta1=0.5, amsgrad=True)": lambda p: torch.optim.Adam(
        p, 0.1, (0.5, 0.999), weight_decay=0.01, amsgrad=True
    ),
    "adamw(beta2=0.9)": lambda p: torch.optim.AdamW(p, 0.1, (0.9, 0.9), weight_decay=0.01),
}


@pytest.mark.parametrize("spec", SAME)
def test_steps_equal_torch(spec):
    weights = []
    for make in (lambda p: make_optimizer(spec, p, lr=0.1, momentum=0.8, weight_decay=0.01), SAME[spec]):
        weight = nn.Parameter(torch.tensor([1.0, -2.0]))
        optimizer = make([weight])
        for scale in (1.0, -0.5, 2.0):
            weight.grad = scale * torch.tensor([0.3, 0.7])
            optimizer.step()
        weights.append(weight.detach())
    assert torch.equal(*weights)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sgdd", "unknown optimizer 'sgdd', did you mean 'sgd'"),
        ("sgd(lr=0.1)", "sgd has no option 'lr'"),
        ("sgd(nesterov=1)", "nesterov=1 must be a bool"),
        ("adam(eps='a')", "eps='a' must be a float"),
        ("adam(eps=True)", "eps=True must be a float"),
    ],
)
def test_invalid_specs_raise_an_error(spec, message):
    with pytest.raises((ValueError, TypeError), match=message):
        parse_optimizer(spec)


def test_errors_of_torch_name_the_optimizer():
    weights = [nn.Parameter(torch.zeros(1))]
    with pytest.raises(ValueError, match=r"optimizer='adam\(beta1=2.0\)'"):
        make_optimizer("adam(beta1=2.0)", weights, lr=0.1, momentum=0.9, weight_decay=0.0)
    with pytest.raises(ValueError, match=r"[Nn]esterov"):
        make_optimizer("sgd(nesterov=True)", weights, lr=0.1, momentum=0.0, weight_decay=0.0)
