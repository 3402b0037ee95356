"""DivideMix against numpy: division of the samples, targets and the three terms of the loss."""

import numpy as np
import pytest
import torch
from training_info import normal, training_info

from noiseproof.data import Batch
from noiseproof.methods import DivideMix, Mixed, Outputs
from noiseproof.methods.mixture import low_component

SIZE = 8
LABEL = torch.arange(SIZE) % 3
PARTNER = torch.tensor([3, 0, 1, 2, 7, 4, 5, 6])
BATCH = Batch(torch.zeros(SIZE, 1), LABEL, torch.arange(SIZE))


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def reference(logits, unmixed, w, *, share, weight, temperature):
    total, one_hot = 0.0, np.eye(3)[LABEL.numpy()]
    predicted = [softmax(u) for u in unmixed]
    for k in range(2):
        peer = w[:, 1 - k]
        labelled = peer > 0.5
        target = np.where(
            labelled[:, None],
            peer[:, None] * one_hot + (1 - peer[:, None]) * predicted[k],
            (predicted[0] + predicted[1]) / 2,
        ) ** (1 / temperature)
        target /= target.sum(1, keepdims=True)
        target = share * target + (1 - share) * target[PARTNER.numpy()]
        p = softmax(logits[k])
        total += -(target * np.log(p)).sum(1)[labelled].mean()
        total += weight * ((p - target) ** 2)[~labelled].mean()
        total += (1 / 3 * np.log(1 / 3 / p.mean(0))).sum()
    return total


@pytest.mark.parametrize("share", [0.6, 1.0])
@pytest.mark.parametrize("epoch", [3, 4, 40])
def test_loss_matches_numpy(share, epoch):
    method = DivideMix(warmup=2, lam=10.0, ramp=4, temperature=0.4)
    method.prepare(training_info(LABEL))
    w = torch.rand(SIZE, 2, generator=torch.Generator().manual_seed(1))
    assert ((w > 0.5).any(0) & (w < 0.5).any(0)).all()
    method.memory.values.copy_(w)
    logits, unmixed = ([normal(SIZE, 3, seed=s + k).float() for k in range(2)] for s in (0, 2))
    given = tuple(Outputs(z, extra=Mixed(PARTNER, share, u)) for z, u in zip(logits, unmixed, strict=True))
    wanted = reference(
        [z.double().numpy() for z in logits],
        [u.double().numpy() for u in unmixed],
        w.double().numpy(),
        share=share,
        weight=10 * min((epoch - 3) / 4, 1),
        temperature=0.4,
    )
    assert float(method.loss(given, BATCH, epoch)) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_loss_is_finite_if_all_or_no_samples_are_labelled(value):
    method = DivideMix(warmup=0)
    method.prepare(training_info(LABEL))
    method.memory.values.fill_(value)
    given = tuple(Outputs(normal(SIZE, 3, seed=k).float(), extra=Mixed(PARTNER, 0.7, normal(SIZE, 3).float()))
                  for k in range(2))  # fmt: skip
    assert method.loss(given, BATCH, 1).isfinite()


def test_warm_up_is_cross_entropy_with_optional_entropy_penalty():
    logits = [normal(SIZE, 3, seed=k) for k in range(2)]
    given = tuple(Outputs(z) for z in logits)
    ce = sum(torch.nn.functional.cross_entropy(z, LABEL) for z in logits)
    h = sum(-(z.softmax(1) * z.log_softmax(1)).sum(1).mean() for z in logits)
    for penalty, wanted in ((False, ce), (True, ce - h)):
        method = DivideMix(warmup=1, penalty=penalty)
        method.prepare(training_info(LABEL))
        torch.testing.assert_close(method.loss(given, BATCH, 1), wanted)


class StubEvaluation:
    def __init__(self, *logits):
        self.logits = logits

    def outputs(self, positions=None, *, features=False):
        return tuple(Outputs(z) for z in self.logits)


def test_division_after_warm_up_uses_losses_of_each_network():
    method = DivideMix(warmup=2)
    method.prepare(training_info(LABEL))
    logits = [3 * normal(SIZE, 3, seed=k).float() for k in range(2)]
    method.between_epochs(StubEvaluation(*logits), 1)
    assert (method.memory.values == 1).all()
    method.between_epochs(StubEvaluation(*logits), 2)
    for k in range(2):
        rows = torch.nn.functional.cross_entropy(logits[k], LABEL, reduction="none")
        torch.testing.assert_close(method.memory.values[:, k], low_component(rows).float())
    assert method.final_outputs()["clean_probability"].shape == (SIZE, 2)
