"""Two networks in the training loop: initial weights, record and files of the run."""

import pytest
import torch
from safetensors.torch import load_file

from noiseproof import models
from noiseproof.models import Ensemble
from noiseproof.train import fit
from noiseproof.train.batches import network_seed
from noiseproof.train.session import Session
from noiseproof.train.steps import PlainSteps
from noiseproof.train.task import make_task

METHOD = "co_teaching(noise_rate=0.2, gradual=2)"


def session_of(config, data, model=None, **changes):
    settings = config(method=METHOD, **changes)
    return Session(settings, make_task(settings, data), torch.device("cpu"), model)


def test_initial_weights_depend_on_seed_and_network(config, blobs):
    first, again, other = (session_of(config, blobs(), seed=seed) for seed in (3, 3, 4))
    one, two = first.networks
    alone = models.get("mlp(hidden=8)", num_classes=3, in_channels=4, seed=3)
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, alone.state_dict()[name])
        assert torch.equal(weight, again.networks[0].state_dict()[name])
        assert torch.equal(two.state_dict()[name], again.networks[1].state_dict()[name])
    assert not torch.equal(one.head.weight, two.head.weight)
    assert not torch.equal(two.head.weight, other.networks[1].head.weight)
    assert len({network_seed(seed, number) for seed in range(100) for number in range(2)}) == 200


def test_prediction_is_the_mean_of_both_networks(config, blobs):
    run = fit(config(method=METHOD, validation=0.2), data=blobs(), test=blobs(seed=1))
    for which in ("final", "best"):
        model = run.load_model(which)
        assert isinstance(model, Ensemble)
        assert len(model.networks) == 2
        inputs = blobs(seed=1).inputs
        with torch.no_grad():
            wanted = sum(network(inputs).softmax(1) for network in model.networks) / 2
        torch.testing.assert_close(run.predict(blobs(seed=1), which=which), wanted)
    probability = load_file(run.folder / "outputs.safetensors")["test_probability"]
    torch.testing.assert_close(probability.float(), run.predict(blobs(seed=1)), atol=1e-3, rtol=0)


def test_recorded_margin_prediction_emphasis_and_loss_are_means(config, blobs):
    """Compare one batch of all samples with a computation in plain torch."""
    data = blobs(wrong=10)
    session = session_of(config, data, batch_size=60, epochs=1)
    networks = [network.train() for network in session.networks]
    inputs, label = data.inputs.float(), data.label
    with torch.no_grad():
        logits = [network(inputs) for network in networks]
    for _ in PlainSteps(session).epoch():
        pass
    p = sum(one.softmax(1) for one in logits) / 2
    own = p[torch.arange(60), label]
    epoch = {name: values.float() for name, values in session.recorder.state().items()}
    torch.testing.assert_close(epoch["margin"], (own / (1 - own)).log(), atol=5e-3, rtol=2e-3)
    assert torch.equal(epoch["prediction"].long(), p.argmax(1))

    rows = [torch.nn.functional.cross_entropy(one, label, reduction="none") for one in logits]
    chosen = [row.argsort()[:54] for row in rows]  # tau e / E = 0.1 in the first of two epochs
    wanted = torch.zeros(60)
    for mine, peer in ((0, 1), (1, 0)):
        p_y = logits[mine].softmax(1)[torch.arange(60), label]
        wanted[chosen[peer]] += (1 - p_y)[chosen[peer]] * 60 / 54 / 2
    torch.testing.assert_close(epoch["emphasis"], wanted, atol=2e-3, rtol=2e-3)
    mean = (rows[0][chosen[1]].mean() + rows[1][chosen[0]].mean()) / 2
    assert session.meter.read()["loss"] == pytest.approx(float(mean), rel=1e-4)


def test_user_networks_must_be_an_ensemble(config, blobs):
    made = [models.get("mlp(hidden=5)", num_classes=3, in_channels=4, seed=seed) for seed in (0, 1)]
    run = fit(config(method=METHOD), data=blobs(), model=Ensemble(*made))
    assert isinstance(run.load_model(model=Ensemble(*made)), Ensemble)
    with pytest.raises(ValueError, match=r"co_teaching trains 2 networks: give model=models.Ensemble"):
        session_of(config, blobs(), made[0])
    twin = models.get("mlp(hidden=5)", num_classes=3, in_channels=4, seed=0)
    with pytest.raises(ValueError, match="same weights"):
        session_of(config, blobs(), Ensemble(twin, models.get(twin, num_classes=3)))


def test_equal_initial_weights_of_both_networks_raise_an_error(config, blobs, tmp_path):
    run = fit(config(epochs=1), data=blobs())
    path = str(run.folder / "model.safetensors")
    with pytest.raises(ValueError, match="start from the same weights"):
        fit(config(method=METHOD, weights=path, out=str(tmp_path / "two")), data=blobs())


def test_between_epochs_receives_the_outputs_of_each_network(config, blobs, monkeypatch, tmp_path):
    from noiseproof.methods import CoTeaching

    seen, again = [], str(tmp_path / "again")

    def look(self, evaluation, epoch):
        seen.append((evaluation.outputs(torch.tensor([3, 5])), evaluation.validation_accuracy))

    monkeypatch.setattr(CoTeaching, "between_epochs", look)
    data = blobs(wrong=10)
    run = fit(config(method=METHOD, epochs=2, validation=0.2), data=data)
    outputs, accuracy = seen[-1]
    inputs = data.subset(torch.isin(data.index, run.record.index)).batch([3, 5]).input
    with torch.no_grad():
        for one, network in zip(outputs, run.load_model().networks, strict=True):
            torch.testing.assert_close(one.logits, network(inputs))
    assert accuracy == run.metrics[-1]["validation_accuracy"]
    fit(config(method=METHOD, epochs=4, validation=0.2, evaluate_every=4, out=f"{again} rarely"), data=data)
    assert [type(one) for _, one in seen[-4:]] == [float] * 4, (
        "validation accuracy also in epochs without evaluation"
    )
    fit(config(method=METHOD, epochs=1, validation=0.2, validation_labels="clean", out=again), data=data)
    assert seen[-1][1] is None
