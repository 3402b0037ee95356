"""Mixup and averaged weights in the training loop."""

import pytest
import torch

from noiseproof import models
from noiseproof.methods.mixed import WeightAverage, draw_mix, logits_without_gradient
from noiseproof.train import fit
from noiseproof.train.session import Session
from noiseproof.train.steps import PlainSteps
from noiseproof.train.task import make_task


def test_draw_mix_depends_on_seed_epoch_and_batch():
    mixes = [draw_mix(1.0, 8, seed=s, epoch=e, batch=b) for s in (0, 1) for e in (1, 2) for b in (0, 1)]
    assert len({mix.share for mix in mixes}) == len(mixes)
    assert all(0.5 <= mix.share <= 1 and sorted(mix.partner.tolist()) == list(range(8)) for mix in mixes)
    again = draw_mix(1.0, 8, seed=1, epoch=2, batch=1)
    assert again.share == mixes[-1].share
    assert torch.equal(again.partner, mixes[-1].partner)
    assert draw_mix(0.0, 3, seed=0, epoch=1, batch=0).share == 1


@pytest.mark.parametrize(("alpha", "mean"), [(1.0, 0.75), (4.0, 0.637)])
def test_mean_share_matches_beta_distribution(alpha, mean):
    """E max(b, 1 - b) is 3/4 for Beta(1, 1), and 0.6367 for Beta(4, 4) by quadrature."""
    shares = [draw_mix(alpha, 1, seed=0, epoch=1, batch=number).share for number in range(4000)]
    assert sum(shares) / len(shares) == pytest.approx(mean, abs=0.01)


def test_weight_average_is_mean_then_exponential_average():
    model = torch.nn.BatchNorm1d(2)
    average = WeightAverage(model, 0.75)
    wanted, values = None, [1.0, 2.0, 6.0, 5.0, -3.0, 8.0]
    for step, value in enumerate(values):
        model.weight.data.fill_(value)
        model.running_mean.fill_(-value)
        model.num_batches_tracked += 1
        average.update(model, step)
        keep = min(0.75, step / (step + 1))
        wanted = value if wanted is None else keep * wanted + (1 - keep) * value
    torch.testing.assert_close(average.model.weight.data, torch.full((2,), wanted))
    torch.testing.assert_close(average.model.running_mean, torch.full((2,), -wanted))
    assert int(average.model.num_batches_tracked) == len(values)
    assert not average.model.training


def test_unmixed_logits_are_normalised_by_the_batch_without_dropout():
    network = models.get(
        "mlp(hidden=4, norm=True, dropout=0.5)", num_classes=3, in_channels=4, seed=0
    ).train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    state, rows = torch.get_rng_state(), torch.rand(5, 4, generator=torch.Generator().manual_seed(0))
    (logits,) = logits_without_gradient((network,), rows)
    assert not logits.requires_grad
    assert torch.equal(state, torch.get_rng_state())
    after = network.state_dict()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed == {name for name in before if "running" in name or "batches" in name}
    assert network.training
    assert all(module.training for module in network.modules())
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    torch.testing.assert_close(logits, network(rows).detach())


def test_saved_model_has_averaged_weights(config, blobs):
    settings = config(weight_average=0.9, validation=0.2)
    run = fit(settings, data=blobs(), test=blobs(seed=1))
    plain = fit(config(out=f"{settings.out} plain", validation=0.2), data=blobs(), test=blobs(seed=1))
    assert run.metrics[0]["loss"] == plain.metrics[0]["loss"], "averaging must not change training"
    weight, other = (one.load_model().state_dict()["head.weight"] for one in (run, plain))
    assert not torch.equal(weight, other)
    probability = run.outputs["test_probability"].float()
    torch.testing.assert_close(probability, run.predict(blobs(seed=1)), atol=1e-3, rtol=0)


def test_step_uses_mixed_inputs_and_records_their_emphasis(config, blobs):
    settings = config(mixup=1.0, batch_size=60)
    data = blobs(wrong=10)
    session = Session(settings, make_task(settings, data), torch.device("cpu"))
    (network,) = session.networks
    before = {name: value.clone() for name, value in network.state_dict().items()}
    seen = []
    network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
    steps = PlainSteps(session).epoch()
    next(steps)
    mix = draw_mix(1.0, 60, seed=0, epoch=1, batch=0)
    from noiseproof.train.batches import epoch_order

    order = epoch_order(data.index, seed=0, epoch=1)
    x, y = data.inputs[order].float(), data.label[order]
    torch.testing.assert_close(seen[0], mix.share * x + (1 - mix.share) * x[mix.partner])
    network.load_state_dict(before)
    p = network(seen[0]).softmax(1)
    soft = mix.share * torch.eye(3)[y] + (1 - mix.share) * torch.eye(3)[y[mix.partner]]
    found = session.recorder.state()["emphasis"][order].float()
    torch.testing.assert_close(found, (p - soft).abs().sum(1).detach() / 2, atol=2e-3, rtol=2e-3)


def test_warm_up_has_no_mixing(config, blobs, monkeypatch):
    settings = config(method="divide_mix(warmup=1)", epochs=2)
    session = Session(settings, make_task(settings, blobs()), torch.device("cpu"))
    assert [one.extra for one in session.step_outputs(torch.ones(4, 4))] == [None, None]
    session.epoch = 2
    mixed = [one.extra for one in session.step_outputs(torch.ones(4, 4))]
    assert all(mix.unmixed.shape == (4, 3) and mix.share < 1 for mix in mixed)


def test_invalid_mixup_settings_raise_value_error(config, blobs):
    with pytest.raises(ValueError, match="mixup=1 cannot be used with elr, which stores predictions"):
        fit(config(mixup=1.0, method="elr"), data=blobs())
    with pytest.raises(ValueError, match="weight_average"):
        config(weight_average=1.0)
    with pytest.raises(ValueError, match="mixup"):
        config(mixup=-1.0)
