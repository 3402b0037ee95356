"""Learning rates against torch's own schedulers."""

import warnings

import pytest
import torch

from noiseproof.train.optimizer import Moment, get_schedule

SCHEDULERS = torch.optim.lr_scheduler
PAIRS = {
    "constant": lambda o: SCHEDULERS.ConstantLR(o, 1.0),
    "cosine": lambda o: SCHEDULERS.CosineAnnealingLR(o, 12),
    "cosine(minimum=0.01)": lambda o: SCHEDULERS.CosineAnnealingLR(o, 12, eta_min=0.01),
    "step(milestones='3,7')": lambda o: SCHEDULERS.MultiStepLR(o, [3, 7]),
    "step(milestones=5, gamma=0.5)": lambda o: SCHEDULERS.MultiStepLR(o, [5], 0.5),
    "every(period=4, gamma=0.3)": lambda o: SCHEDULERS.StepLR(o, 4, 0.3),
    "exponential(gamma=0.97)": lambda o: SCHEDULERS.ExponentialLR(o, 0.97),
    "warm_restarts(period=5, minimum=0.001)": lambda o: SCHEDULERS.CosineAnnealingWarmRestarts(
        o, 5, eta_min=0.001
    ),
    "warm_restarts(period=2, growth=2)": lambda o: SCHEDULERS.CosineAnnealingWarmRestarts(o, 2, 2),
}


def torch_rates(make, count):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
    scheduler = make(optimizer)
    rates = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
    return rates


@pytest.mark.parametrize("spec", PAIRS)
def test_rates_by_epoch_and_by_iteration_equal_torch(spec):
    expected = torch_rates(PAIRS[spec], 12)
    by_epoch = get_schedule(spec)
    inside = "by='iteration')"
    by_step = get_schedule(spec[:-1] + ", " + inside if "(" in spec else f"{spec}({inside}")
    for time, rate in enumerate(expected):
        early, late = (Moment(step=7 * time + i, steps=84, epoch=time, epochs=12) for i in (0, 6))
        assert by_epoch(early, 0.2) == by_epoch(late, 0.2) == pytest.approx(rate, rel=1e-9)
        assert by_step(Moment(step=time, steps=12, epoch=0, epochs=1), 0.2) == pytest.approx(rate, rel=1e-9)


def test_step_schedule_with_keras_decay():
    rate = get_schedule("step(milestones=2, decay=0.01)")
    for iteration in range(12):
        epoch = iteration // 4
        expected = 0.2 * (0.1 if epoch >= 2 else 1.0) / (1.0 + 0.01 * iteration)
        found = rate(Moment(step=iteration, steps=12, epoch=epoch, epochs=3), 0.2)
        assert found == pytest.approx(expected, rel=1e-12)


def test_warmup_is_linear():
    rate = get_schedule("constant(warmup=3)")
    rates = [rate(Moment(step=0, steps=1, epoch=e, epochs=9), 0.4) for e in range(6)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("step", "step needs milestones"),
        ("step(milestones='a')", "whole numbers"),
        ("step(milestones='3,-4')", "whole numbers"),
        ("cosine(by='batch')", "choose 'epoch' or 'iteration'"),
        ("cosine(min=0)", "cosine has no option 'min', did you mean 'minimum'"),
        ("cosine(0.1)", "write options as name=value"),
        ("warm_restarts(period=0)", "at least 1"),
        ("every(period=0)", "at least 1"),
        ("cosine(minimum=-1)", "must not be negative"),
        ("cosine(warmup=1.5)", "must be a whole number"),
        ("cosine | step", "is not a schedule"),
        ("import os", "cannot read"),
    ],
)
def test_invalid_specs_raise_an_error(spec, message):
    with pytest.raises((ValueError, TypeError), match=message):
        get_schedule(spec)
