"""Captured steps read changing values from fixed tensors; on a CPU a replay runs the step itself."""

from functools import partial

import pytest
import torch
from stopping import StopAt, contents

import noiseproof.train.graph as steps_module
from noiseproof import losses, methods
from noiseproof.devices.capture import CaptureError
from noiseproof.devices.network import is_worth_compiling
from noiseproof.train import Interrupted, NonFiniteError, fit
from noiseproof.train import graph as graph_module
from noiseproof.train.graph import GraphSteps, make_steps, obstacle
from noiseproof.train.nan_guard import check_health, note_health
from noiseproof.train.session import Session
from noiseproof.train.task import make_task

NUMBERS = ("epoch", "step", "batch")


def rerun(step, rewind):
    """Replacement of a capture: warms up like the real one, and its replay runs the step.

    As in a graph, Python numbers have the values of the time of capture.
    """
    steps = step.func.__self__
    session = steps.session
    for _ in range(2):
        rewind()
        step()
    captured = {name: getattr(session, name) for name in NUMBERS}

    def replay():
        now = {name: getattr(session, name) for name in NUMBERS}
        vars(session).update(captured)
        session.set_learning_rate(steps.rate)
        step()
        vars(session).update(now)
        session.set_learning_rate(session.learning_rate())

    return replay


@pytest.fixture
def graphs(monkeypatch):
    """Use captured steps in every run; return a function that sets the block size."""
    monkeypatch.setattr(steps_module, "obstacle", lambda session: None)
    monkeypatch.setattr(steps_module, "Captures", lambda device: rerun)
    return lambda size: monkeypatch.setattr(graph_module, "BLOCK_BYTES", size)


SETTINGS = {
    "plain": {},
    "decay, clip": {"weight_decay": 0.1, "clip": 0.05},
    "rates by step": {"schedule": "cosine(by='iteration')", "loss": "gce(q=0.4)"},
    "adam": {"optimizer": "adam", "lr": 0.01},
    "no momentum": {"momentum": 0.0},
    "iterations": {"epochs": None, "iterations": 9},
    "peer": {"loss": "peer(ce)"},
    "normalised": {"loss": "imae(normalize='batch')"},
    "one batch more": {"batch_size": 59},
    "odd last batch": {"batch_size": 13},
    "whole set": {"batch_size": 1000},
    "validation": {"validation": 0.25, "noise": "symmetric(0.4)"},
    "nal": {"method": "nal(start=2, period=1)"},
    "elr": {"method": "elr"},
    "selc": {"method": "selc(start=1)"},
    "joint": {"method": "joint(start=1, average=2)"},
    "truncated": {"method": "truncated_gce(start=2, period=2)"},
    "pruned": {"method": "truncated_gce(start=2, period=1, by='validation')", "validation": 0.25},
    "self-paced": {"method": "self_paced(warmup=1, growth=0.1)"},
    "mentornet": {"method": "mentornet_pd(burn_in=0.3, linear=0.6)"},
    "d2l": {"method": "d2l(k=3, start=0, window=2)", "epochs": 6},
    "sop": {"method": "sop(lr_v=1000.0)"},
    "co-teaching": {"method": "co_teaching(gradual=2)", "validation": 0.25},
    "decoupling": {"method": "decoupling(warmup=1)"},
    "forward": {"method": "forward(transition='symmetric(0.2)')"},
}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 600, 1 << 20])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_graph_steps_equal_plain_steps(config, blobs, tmp_path, graphs, settings, size):
    graphs(size)
    runs = [
        fit(config(**settings, loop=loop, out=str(tmp_path / loop)), data=blobs(wrong=9), test=blobs(seed=1))
        for loop in ("plain", "graph")
    ]
    torch.testing.assert_close(*(run.load_model().state_dict() for run in runs), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(*(run.record.margin for run in runs), rtol=2e-3, atol=2e-3, equal_nan=True)
    assert torch.equal(*(run.record.prediction for run in runs))
    for first, second in zip(*(run.metrics for run in runs), strict=True):
        assert first.keys() == second.keys()
        for name in set(first) - {"seconds"}:
            assert second[name] == (
                first[name] if first[name] is None else pytest.approx(first[name], rel=1e-4)
            )


def test_augmented_graph_steps_equal_plain_steps(config, blobs, tmp_path, graphs):
    graphs(300)
    found = []
    for loop in ("plain", "graph"):
        settled = config(augment="crop(padding=1) | flip", loop=loop, out=str(tmp_path / loop))
        found.append(fit(settled, data=blobs(shape=(1, 2, 2))).load_model().state_dict())
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)


def test_channels_last_changes_the_memory_layout_only(config, blobs):
    settled = config(augment="flip", model="cnn4", batch_size=8)
    data = blobs(count=16, shape=(1, 2, 2))
    data = data._changed(inputs=data.inputs.repeat(1, 3, 4, 4))
    session = Session(settled, make_task(settled, data), torch.device("cpu"))
    plain = session.views.train(session.train.batch(torch.arange(8)), 1)
    session.views.layout = torch.channels_last
    steps, seen = GraphSteps(session, rerun), []
    session.outputs = lambda views: seen.append(views) or (_ for _ in ()).throw(InterruptedError)
    steps._fill(torch.arange(16), [(0, 8), (8, 16)])
    with pytest.raises(InterruptedError):
        steps._step(8)
    assert torch.equal(seen[0], plain)
    assert seen[0].is_contiguous(memory_format=torch.channels_last)


def test_resumed_run_is_bit_identical(config, blobs, tmp_path, graphs):
    graphs(700)
    settings = {"loop": "graph", "validation": 0.25, "noise": "symmetric(0.4)", "method": "elr"}
    unbroken = fit(config(**settings, out=str(tmp_path / "whole")), data=blobs())
    for place in range(1, 9):
        settled = config(**settings, out=str(tmp_path / f"broken {place}"))
        with pytest.raises(Interrupted):
            fit(settled, data=blobs(), watcher=StopAt(place))
        assert contents(fit(settled, data=blobs()).folder) == contents(unbroken.folder), place


def test_first_non_finite_batch_is_reported(config, blobs):
    settled = config()
    session = Session(settled, make_task(settled, blobs()), torch.device("cpu"))
    for number, value in enumerate([1.0, torch.nan, 1.0, torch.inf]):
        note_health(session, torch.zeros(2, 3), torch.tensor(value), torch.tensor(number))
    with pytest.raises(NonFiniteError, match=r"epoch 1, step 2, with samples \d+"):
        check_health(session)


def test_graph_loop_on_cpu_raises_an_error(config, blobs):
    with pytest.raises(ValueError, match="loop='graph' cannot be used: the device is cpu"):
        fit(config(loop="graph"), data=blobs())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"dropout": 0.5}, "dropout"), ({"optimizer": "sgd(dampening=0.5)"}, "dampening"), ({}, None)],
)
def test_obstacle_names_the_setting(config, blobs, settings, reason):
    settled = config(**settings)
    session = Session(settled, make_task(settled, blobs()), torch.device("cpu"))
    session.device = torch.device("cuda")
    found = obstacle(session)
    assert found is None if reason is None else reason in found


def test_user_networks_and_methods_are_not_captured(config, blobs):
    settled = config()
    session = Session(settled, make_task(settled, blobs()), torch.device("cpu"))
    session.device = torch.device("cuda")
    session.method.phase = lambda epoch: None
    assert "does not declare which epochs" in obstacle(session)
    session.model = torch.nn.Linear(4, 3)
    assert "not from this library" in obstacle(session)


@pytest.fixture
def gpu_session(config, blobs):
    """Make a session whose device is a GPU."""

    def make(method=None):
        settled = config()
        session = Session(settled, make_task(settled, blobs()), torch.device("cpu"))
        session.device = torch.device("cuda")
        session.method = session.method if method is None else method
        return session

    return make


class CountingLoss(losses.Loss):
    """A loss whose value depends on the number of calls."""

    name, calls = "counting", 0

    def index_rows(self, logits, target, keep):
        self.calls += 1
        return self.calls * logits[:, 0]


def test_losses_with_state_are_not_captured(gpu_session):
    for captured in (losses.get("ce + 2*nce"), losses.MarginLoss.from_emphasis(lambda p, q: q)):
        assert obstacle(gpu_session(methods.get(captured))) is None
    for counting in (CountingLoss(), losses.get("ce") + CountingLoss()):
        assert "does not declare which epochs" in obstacle(gpu_session(methods.get(counting)))


def test_phase_applies_to_the_loss_of_the_same_class(gpu_session):
    class Renamed(methods.ELR):
        pass

    class ByEpoch(methods.ELR):
        def loss(self, outputs, batch, epoch):
            return epoch * super().loss(outputs, batch, epoch)

    class WithPhases(ByEpoch):
        def phase(self, epoch):
            return epoch

    assert obstacle(gpu_session(Renamed())) is None
    assert "does not declare which epochs" in obstacle(gpu_session(ByEpoch()))
    assert obstacle(gpu_session(WithPhases())) is None


def test_method_without_phase_continues_without_a_graph(config, blobs, tmp_path, graphs):
    class Silent(methods.ELR):
        def phase(self, epoch):
            return None if epoch > 2 else "always"

    methods.register("silent", Silent)
    try:
        with pytest.warns(
            UserWarning, match="has no phase in epoch 3: training continues without CUDA graphs"
        ):
            run = fit(config(method="silent", out=str(tmp_path / "silent")), data=blobs())
        plain = fit(config(method="elr", loop="plain", out=str(tmp_path / "plain")), data=blobs())
        found = [one.load_model().state_dict() for one in (run, plain)]
    finally:
        del methods.METHODS["silent"]
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)


def test_graph_without_effect_falls_back_to_plain_steps(config, blobs, tmp_path, graphs, monkeypatch):
    monkeypatch.setattr(steps_module, "Captures", lambda device: lambda step, rewind: lambda: None)
    with pytest.warns(UserWarning, match="has no effect: training continues without CUDA graphs"):
        run = fit(config(out=str(tmp_path / "empty")), data=blobs())
    plain = fit(config(loop="plain", out=str(tmp_path / "plain")), data=blobs())
    assert contents(run.folder) == contents(plain.folder)


def test_failed_capture_falls_back_to_plain_steps(config, blobs, tmp_path, graphs, monkeypatch):
    def fails(step, rewind):
        step()
        raise CaptureError("a step cannot be captured")

    monkeypatch.setattr(steps_module, "Captures", lambda device: fails)
    with pytest.warns(UserWarning, match="training continues without CUDA graphs"):
        run = fit(config(out=str(tmp_path / "fallen")), data=blobs())
    plain = fit(config(loop="plain", out=str(tmp_path / "plain")), data=blobs())
    assert contents(run.folder) == contents(plain.folder)
    with pytest.raises(CaptureError):
        fit(config(loop="graph", out=str(tmp_path / "asked")), data=blobs())


def test_failed_compilation_captures_the_eager_network(config, blobs, tmp_path, graphs, monkeypatch):
    def broken(forward, dynamic):
        def fails(inputs):
            raise OSError("no compiler here\nand more")

        return fails

    monkeypatch.setattr(graph_module, "is_worth_compiling", lambda session, size: size == 16)
    monkeypatch.setattr(torch, "compile", broken)
    with pytest.warns(UserWarning, match=r"torch.compile of the network failed \(no compiler here\)"):
        run = fit(config(loop="graph", out=str(tmp_path / "graph")), data=blobs())
    plain = fit(config(loop="plain", out=str(tmp_path / "plain")), data=blobs())
    torch.testing.assert_close(*(one.load_model().state_dict() for one in (run, plain)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", [None, "nal(start=2, period=1)"])
def test_compiled_network_equals_the_eager_network(config, blobs, tmp_path, graphs, monkeypatch, method):
    calls = []
    eager = partial(torch.compile, backend="eager")

    def counted(forward, dynamic):
        calls.append(forward)
        return eager(forward, dynamic=dynamic)

    monkeypatch.setattr(graph_module, "is_worth_compiling", lambda session, size: size == 16)
    monkeypatch.setattr(torch, "compile", counted)
    ways = [config(loop=loop, method=method, out=str(tmp_path / loop)) for loop in ("graph", "plain")]
    found = [fit(way, data=blobs()).load_model().state_dict() for way in ways]
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)
    assert calls


def test_only_long_runs_on_a_gpu_are_compiled(config, blobs):
    for epochs, expected in ((10, False), (100_000, True)):
        settled = config(epochs=epochs)
        session = Session(settled, make_task(settled, blobs()), torch.device("cpu"))
        assert not is_worth_compiling(session, 16)
        session.device = torch.device("cuda")
        assert is_worth_compiling(session, 16) is expected
        assert not is_worth_compiling(session, 12)


def test_plain_loop_uses_plain_steps(config, blobs):
    settled = config(loop="plain")
    session = Session(settled, make_task(settled, blobs()), torch.device("cpu"))
    assert type(make_steps(session)).__name__ == "PlainSteps"
