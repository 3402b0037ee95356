"""Nested states are flattened, written as JSON and restored unchanged."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.train import checkpoint
from noiseproof.train.checkpoint import flatten, unflatten

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
TENSORS = st.builds(
    lambda v, d: torch.tensor(v).to(d),
    st.lists(st.integers(0, 9)),
    st.sampled_from([torch.int64, torch.float16]),
)
NESTED = st.recursive(
    PLAIN | TENSORS,
    lambda part: (
        st.lists(part, max_size=3)
        | st.lists(part, max_size=3).map(tuple)
        | st.dictionaries(
            st.text(max_size=3) | st.integers() | st.sampled_from(["$tensor", "a.b", "a"]), part, max_size=3
        )
    ),
    max_leaves=12,
)


def equal_states(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return len(one) == len(other) and all(
            a == c and type(a) is type(c) and equal_states(b, d) for (a, b), (c, d) in pairs
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal_states, one, other))
    return repr(one) == repr(other)


@settings(deadline=None, max_examples=300)
@given(NESTED)
def test_flatten_and_unflatten_restore_nested_states(nested):
    tensors, state = flatten(nested)
    again = json.loads(json.dumps(state, allow_nan=False))
    assert equal_states(nested, unflatten(tensors, again))


def test_equal_paths_refer_to_different_tensors():
    nested = {
        "a.b": torch.tensor(1),
        "a": {"b": torch.tensor(2)},
        "": [torch.tensor(3)],
        "0": torch.tensor(4),
    }
    assert equal_states(nested, unflatten(*flatten(nested)))


def run_steps(optimizer, schedule, steps):
    for step in range(steps):
        parameters = optimizer.param_groups[0]["params"]
        for place, parameter in enumerate(parameters):
            parameter.grad = torch.sin(parameter.detach() * (place + 2) + step)
        optimizer.step()
        schedule.step(*([0.5] if isinstance(schedule, torch.optim.lr_scheduler.ReduceLROnPlateau) else []))


def make_optimizer(kind, schedule):
    parameters = [
        torch.nn.Parameter(torch.linspace(-1, 1, 6).reshape(2, 3)),
        torch.nn.Parameter(torch.ones(2)),
    ]
    optimizer = kind(parameters)
    return parameters, optimizer, schedule(optimizer)


SGD, ADAM = torch.optim.SGD, torch.optim.AdamW
RATES = torch.optim.lr_scheduler


@pytest.mark.parametrize(
    ("kind", "schedule"),
    [
        (lambda p: SGD(p, lr=0.1), lambda o: RATES.StepLR(o, 2)),
        (lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True), lambda o: RATES.CosineAnnealingLR(o, 9)),
        (lambda p: ADAM(p, lr=0.1, amsgrad=True), lambda o: RATES.CosineAnnealingWarmRestarts(o, 2)),
        (lambda p: ADAM(p, lr=torch.tensor(0.1)), lambda o: RATES.ReduceLROnPlateau(o, patience=1)),
    ],
)
def test_restored_optimizers_and_schedules_are_bit_identical(tmp_path, kind, schedule):
    parameters, optimizer, rate = make_optimizer(kind, schedule)
    run_steps(optimizer, rate, 3)
    whole = {"w": list(parameters), "optimizer": optimizer.state_dict(), "rate": rate.state_dict()}
    checkpoint.save(tmp_path, step=3, state=whole)
    again = checkpoint.newest(tmp_path).state
    others, other, other_rate = make_optimizer(kind, schedule)
    with torch.no_grad():
        for mine, theirs in zip(others, again["w"], strict=True):
            mine.copy_(theirs)
    other.load_state_dict(again["optimizer"])
    other_rate.load_state_dict(again["rate"])
    for both in ((optimizer, rate), (other, other_rate)):
        run_steps(*both, 4)
    assert all(map(torch.equal, parameters, others))
    assert equal_states(optimizer.state_dict(), other.state_dict())
    assert repr(rate.state_dict()) == repr(other_rate.state_dict())


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ({"a": [object()]}, r"a\.0 = .* of object cannot"),
        ({"a": {1.5: 0}}, r"a has the key 1\.5"),
        ({2: {1}}, "2 = .1. of set"),
    ],
)
def test_unsupported_values_are_named_in_the_error(nested, message):
    with pytest.raises(TypeError, match=message):
        flatten(nested)


def test_missing_tensor_is_named_in_the_error():
    with pytest.raises(ValueError, match=r"cannot read \$tensor 'a'"):
        unflatten({}, {"a": {"$tensor": "a"}})
