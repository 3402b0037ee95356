"""The training loop on a GPU: no synchronization within an epoch, and bit-identical resuming."""

import pytest
import torch
from stopping import StopAt, contents
from torch import nn

from noiseproof.devices.device import isolated_random
from noiseproof.train import Interrupted, NonFiniteError, fit
from noiseproof.train import graph as graph_module
from noiseproof.train.batches import epoch_order
from noiseproof.train.graph import make_steps
from noiseproof.train.session import Session
from noiseproof.train.task import make_task

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
CUDA = torch.device("cuda")


@pytest.fixture
def deterministic(monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("loop", ["plain", "graph"])
@pytest.mark.parametrize("loss", ["ce", "imae", "nce", "nfl", "peer(ce)", "cr(ce)", "gr(normalize='batch')"])
def test_steps_do_not_synchronize_with_the_device(config, blobs, loss, loop, monkeypatch):
    monkeypatch.setattr(graph_module, "BLOCK_BYTES", 500)  # two batches
    settled = config(loss=loss, device="cuda", clip=1.0, augment="crop(padding=1)", loop=loop, batch_size=12)
    with isolated_random(0, CUDA):
        session = Session(settled, make_task(settled, blobs(shape=(1, 2, 2))), CUDA)
        steps = make_steps(session).epoch()
        next(steps)
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in steps:
                pass
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert session.recorder.prediction.min() >= 0


def test_cuda_run_equals_cpu_run(config, blobs, tmp_path):
    runs = [
        fit(config(device=d, out=str(tmp_path / d)), data=blobs(wrong=9), test=blobs(seed=1))
        for d in ("cpu", "cuda")
    ]
    torch.testing.assert_close(runs[0].record.margin, runs[1].record.margin, rtol=1e-2, atol=1e-2)
    for first, second in zip(*(run.metrics for run in runs), strict=True):
        assert first["alpha"] == pytest.approx(second["alpha"], rel=1e-4)
        assert first["snr"] == pytest.approx(second["snr"], rel=1e-4)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize(
    "way", [{"loop": "plain", "dropout": 0.4}, {"loop": "graph"}], ids=["plain", "graph"]
)
def test_resumed_run_is_bit_identical(config, blobs, tmp_path, way):
    settings = {"device": "cuda", "validation": 0.25, "noise": "symmetric(0.4)", **way}
    unbroken = fit(config(**settings, out=str(tmp_path / "whole")), data=blobs())
    for place in range(1, 9):
        settled = config(**settings, out=str(tmp_path / f"broken {place}"))
        with pytest.raises(Interrupted):
            fit(settled, data=blobs(), watcher=StopAt(place))
        assert contents(fit(settled, data=blobs()).folder) == contents(unbroken.folder), place


def test_nan_in_a_captured_step_raises_an_error_at_the_end_of_the_epoch(config, blobs):
    data = blobs(shape=(1, 2, 2))
    data.inputs[37] = float("nan")
    place = (epoch_order(data.index, seed=0, epoch=1) == 37).nonzero().item() // 16 + 1
    with pytest.raises(NonFiniteError, match=rf"epoch 1, step {place}, with samples .*37"):
        fit(config(device="cuda", batch_size=16, loop="graph"), data=data)


def test_global_random_state_is_not_changed(config, blobs):
    before = torch.cuda.get_rng_state(), torch.get_rng_state()
    fit(config(device="cuda", dropout=0.5), data=blobs())
    assert torch.equal(torch.cuda.get_rng_state(), before[0])
    assert torch.equal(torch.get_rng_state(), before[1])


def test_nan_in_a_plain_step_raises_an_error_at_the_end_of_the_epoch(config, blobs):
    class NaNForLargeInputs(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            return self.head(x) + torch.where(x[:, :1] > 8, torch.nan, 0.0)

    data = blobs()
    data.inputs[37] = 9.0
    place = (epoch_order(data.index, seed=0, epoch=1) == 37).nonzero().item() // 16 + 1
    with pytest.raises(NonFiniteError, match=rf"epoch 1, step {place}, with samples .*37"):
        fit(config(device="cuda", batch_size=16), data=data, model=NaNForLargeInputs())
