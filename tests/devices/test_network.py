"""Joint casts and counters of all layers: bit-identical results, fewer operators, no lasting changes."""

from collections import Counter
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils._python_dispatch import TorchDispatchMode

from noiseproof.devices.network import castable_weights, counting_norms, joint_casts
from noiseproof.models import Classifier
from noiseproof.models.input_shape import Values
from noiseproof.train.graph import GraphSteps, train_step
from noiseproof.train.session import Session
from noiseproof.train.task import make_task

STEPS = 4


@pytest.fixture
def session(config, blobs):
    """A session in bf16, on points or on small images."""

    def make(network=None, *, images=False, **settings):
        settled = config(**({"precision": "bf16"} | settings))
        data = blobs(shape=(1, 2, 2) if images else (4,))
        if images:
            data = data._changed(inputs=data.inputs.repeat(1, 3, 4, 4))
        torch.manual_seed(0)
        model = None if network is None else network()
        found = Session(settled, make_task(settled, data), torch.device("cpu"), model)
        found.model.train()
        return found

    return make


def train(session, steps=STEPS, lean=True):
    for number in range(steps):
        batch = session.train.batch(torch.arange(16) + 9 * number)
        views = session.views.train(batch, session.epoch)
        with joint_casts(session) if lean else nullcontext():
            train_step(session, batch, views, session.config.lr, number)
        session.count_step()


def assert_same_bits(*sessions):
    first, second = (session.state() for session in sessions)
    for part in ("model", "method"):
        assert first[part].keys() == second[part].keys()
        for name, values in first[part].items():
            assert values.dtype is second[part][name].dtype
            assert torch.equal(values, second[part][name]), name
    assert torch.equal(
        sessions[0].recorder.columns["margin"].nan_to_num(), second["recorder"]["margin"].nan_to_num()
    )


SETTINGS = {
    "points": {},
    "batch norm": {"model": "mlp(hidden=8, norm=True)"},
    "decay, clip": {"model": "mlp(hidden=8, norm=True)", "weight_decay": 0.1, "clip": 0.05},
    "adam": {"optimizer": "adam", "lr": 0.01},
    "fp32": {"model": "mlp(hidden=8, norm=True)", "precision": "fp32"},
    "convolutions with bias": {"model": "cnn4", "images": True},
    "convolutions without": {"model": "resnet20", "images": True},
    "projections": {"model": "resnet20(shortcut='projection')", "images": True, "clip": 1.0},
    "features and weights of the method": {"method": "nal(start=1, period=1)"},
    "weights of the method": {"method": "s_adaptation"},
    "memory of the method": {"method": "elr", "model": "cnn4", "images": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_joint_casts_are_bit_identical_to_autocast(session, settings):
    sessions = session(**settings), session(**settings)
    for one, lean in zip(sessions, (True, False), strict=True):
        train(one, lean=lean)
    assert_same_bits(*sessions)
    assert not torch.equal(sessions[0].model.head.weight, session(**settings).model.head.weight)


def network(*layers):
    return Classifier(nn.Sequential(*layers), 4, Values(4), num_classes=3)


def shared():
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    second.weight = first.weight
    return network(first, nn.Tanh(), second, nn.Tanh(), first)


def frozen():
    found = network(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    found.body[0].weight.requires_grad_(False)
    return found


def unused():
    found = network(nn.Linear(4, 4))
    found.spare = nn.Linear(4, 4)
    return found


def parametrised():
    return network(weight_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 4, bias=False))


class Doubled(nn.Linear):
    """Also uses its weight in an operation that autocast does not cast."""

    def forward(self, x):
        return super().forward(x) + self.weight.sum()


class Reading(nn.Module):
    """Uses the weight of a layer outside of the layer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) * self.layer.weight.square().sum()


def reading():
    return network(Reading(), nn.BatchNorm1d(4))


def derived():
    return network(Doubled(4, 4), nn.BatchNorm1d(4))


def averaged():
    return network(
        nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None), nn.BatchNorm1d(4, track_running_stats=False)
    )


def watched():
    found = network(nn.Linear(4, 4), nn.BatchNorm1d(4))
    found.body[0].register_forward_hook(lambda layer, _, output: output + layer.weight.sum())
    found.body[1].register_forward_pre_hook(lambda norm, x: (x[0] + norm.num_batches_tracked,))
    return found


@pytest.mark.parametrize("make", [shared, frozen, unused, parametrised, derived, reading, averaged, watched])
def test_unusual_networks_are_bit_identical(session, make):
    sessions = session(make), session(make)
    for one, lean in zip(sessions, (True, False), strict=True):
        train(one, lean=lean)
    assert_same_bits(*sessions)
    for one, other in zip(*(one.parameters for one in sessions), strict=True):
        assert (one.grad is None) == (other.grad is None)


@pytest.mark.parametrize(
    ("make", "cast", "counting"),
    [
        (shared, 5, 0),
        (frozen, 5, 0),
        (parametrised, 3, 0),
        (derived, 2, 1),
        (averaged, 4, 1),
        (watched, 2, 0),
    ],
)
def test_layers_that_are_cast_and_counted_jointly(make, cast, counting):
    model = make()
    assert len(castable_weights(model)) == cast
    assert len(counting_norms(model)) == counting
    assert counting_norms(model.eval()) == []


class Operators(TorchDispatchMode):
    """Counts the operators that run."""

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen[function.overloadpacket.__name__] += 1
        return function(*args, **(kwargs or {}))


def operators(session, lean):
    train(session, steps=1)  # the optimiser creates its buffers
    with Operators() as counted:
        train(session, steps=1, lean=lean)
    return counted.seen


@pytest.mark.slow
def test_number_of_casts_does_not_depend_on_depth(session):
    shallow, deep = (session(model=name, images=True) for name in ("resnet20", "resnet32"))
    one_by_one = [operators(each, lean=False) for each in (shallow, deep)]
    together = [operators(each, lean=True) for each in (shallow, deep)]
    assert one_by_one[1]["_to_copy"] - one_by_one[0]["_to_copy"] == 2 * 12
    assert together[0]["_to_copy"] == together[1]["_to_copy"]
    assert together[0]["_foreach_copy_"] == together[1]["_foreach_copy_"] == 2
    assert one_by_one[0]["_to_copy"] - together[0]["_to_copy"] == 2 * 21
    assert one_by_one[0]["add_"] - together[0]["add_"] == 19
    assert together[0]["clone"] == one_by_one[0]["clone"]


def test_captured_steps_use_joint_casts(session):
    steps = GraphSteps(session(model="resnet20", images=True), lambda step, rewind: step)
    steps._fill(torch.arange(60), steps._next_block())
    with Operators() as counted:
        steps._step(16)
    assert counted.seen["_foreach_copy_"] == 2
    assert int(steps.session.model.body.bn1.num_batches_tracked) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_module_is_restored_afterwards(session, fails):
    one = session(model="mlp(hidden=8, norm=True)")
    forward, before = one.forward, dict(one.model.state_dict(keep_vars=True))

    def broken(inputs):
        forward(inputs)
        raise ZeroDivisionError

    one.forward = broken if fails else forward
    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        train(one)
    assert one.forward is (broken if fails else forward)
    after = one.model.state_dict(keep_vars=True)
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_networks_of_one_kind_are_compiled_once(session):
    # This imports Triton, which tests/kernels must import first to enable its interpreter.
    from torch._dynamo.testing import CompileCounterWithBackend

    count = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    sessions = [session(model="cnn4", images=True) for _ in range(3)]
    for one in sessions[:2]:
        one.forward = torch.compile(one.forward, dynamic=False, backend=count)
        train(one)
    train(sessions[2])
    assert count.frame_count == 1
    assert_same_bits(*sessions[:2])
    torch.testing.assert_close(*(one.model.state_dict() for one in sessions[1:]), rtol=0.02, atol=0.02)
