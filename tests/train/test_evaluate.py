"""Evaluation does not change the network."""

import threading

import torch
from torch import nn

from noiseproof.data import LabelledData
from noiseproof.devices.capture import capture_lock
from noiseproof.train import evaluate


def test_prediction_restores_mode_and_random_state(monkeypatch):
    monkeypatch.setattr(evaluate, "BATCH_SIZE", 7)
    model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 2))
    model[1].eval()
    data = LabelledData(torch.randn(20, 3), [0, 1] * 10)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    logits = evaluate.predict_logits(model, data, lambda x: 2 * x, device=torch.device("cpu"))
    assert [module.training for module in model.modules()] == [True, True, False, True, True]
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    torch.testing.assert_close(logits, model.eval()(2 * data.inputs).detach())
    features = evaluate.predict_features(model, data, lambda x: x, device=torch.device("cpu"))
    torch.testing.assert_close(model[3](features), model(data.inputs))


def test_score_per_class():
    data = LabelledData(torch.rand(4, 2), [0, 1, 1, 2]).subset(range(3))
    found = evaluate.score(torch.tensor([[1.0, 0, 0], [1, 0, 0], [0, 1, 0]]), data, "test")
    assert found == {"test_accuracy": 2 / 3, "test_class_accuracy": [1.0, 0.5, None]}


def test_prediction_waits_for_the_capture_lock():
    class Network(nn.Linear):
        def forward(self, x):
            begun.set()
            return super().forward(x)

    begun, data = threading.Event(), LabelledData(torch.rand(4, 2), [0, 1, 1, 0])
    where = {"device": torch.device("cpu")}
    work = threading.Thread(
        target=lambda: evaluate.predict_logits(Network(2, 2), data, lambda x: x, **where), daemon=True
    )
    with capture_lock:
        work.start()
        assert not begun.wait(0.3)
    assert begun.wait(60)
    work.join()
