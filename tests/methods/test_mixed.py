"""Mixup: targets of losses and methods, and the methods that support it."""

import pytest
import torch
from torch.nn.functional import one_hot
from training_info import normal, training_info

from noiseproof import losses, methods
from noiseproof.data import Batch
from noiseproof.methods import Mixed, Outputs
from noiseproof.methods.mixed import cross_entropy, loss_of_step

LABEL = torch.tensor([0, 1, 2, 2, 0])
PARTNER = torch.tensor([3, 0, 1, 4, 2])
BATCH = Batch(torch.zeros(5, 1), LABEL, torch.arange(5))
MIX = Mixed(PARTNER, 0.7)
SOFT = 0.7 * one_hot(LABEL, 3).double() + 0.3 * one_hot(LABEL[PARTNER], 3).double()


def outputs(mix=MIX, networks=1):
    return tuple(Outputs(normal(5, 3, seed=k), extra=mix) for k in range(networks))


@pytest.mark.parametrize("spec", ["ce", "gce(q=0.4)", "mae", "sl", "nce", "10*nce + 0.1*agce"])
def test_mixup_of_loss_equals_soft_target_loss(spec):
    found = loss_of_step(methods.get(None, loss=spec), outputs(), BATCH, 1)
    wanted = losses.get(spec)(outputs()[0].logits, SOFT)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("beta", [0.5, 0.95])
def test_bootstrap_mixes_only_the_label(beta):
    method = methods.get(f"bootstrap_soft(beta={beta})")
    log_p = outputs()[0].logits.log_softmax(1)
    wanted = -((beta * SOFT + (1 - beta) * log_p.exp()) * log_p).sum(1).mean()
    torch.testing.assert_close(loss_of_step(method, outputs(), BATCH, 1), wanted)


def test_forward_mixes_only_the_label():
    method = methods.get("forward(transition='symmetric(0.4)')")
    method.prepare(training_info(LABEL))
    matrix = torch.full((3, 3), 0.2, dtype=torch.float64) + 0.4 * torch.eye(3, dtype=torch.float64)
    wanted = -(SOFT * (outputs()[0].logits.softmax(1) @ matrix).log()).sum(1).mean()
    torch.testing.assert_close(loss_of_step(method, outputs(), BATCH, 1), wanted)


SELECTION = ["self_paced(warmup=0)", "mentornet_pd(burn_in=0.0)", "co_teaching(noise_rate=0.4)", "decoupling"]


@pytest.mark.parametrize("spec", SELECTION)
def test_selection_uses_losses_of_mixed_labels(spec):
    """Equal to the loss without mixup if each sample is its own partner, and different otherwise."""
    same = Mixed(torch.arange(5), 0.7)

    def loss_with(mix):
        method = methods.get(spec)
        method.prepare(training_info(LABEL))
        return loss_of_step(method, outputs(mix, method.networks), BATCH, 1)

    torch.testing.assert_close(loss_with(same), loss_with(None))
    assert not torch.allclose(loss_with(MIX), loss_with(None))
    soft = -(SOFT * outputs()[0].logits.log_softmax(1)).sum(1)
    torch.testing.assert_close(cross_entropy(outputs()[0], LABEL), soft)


def test_methods_with_memory_reject_mixup():
    from noiseproof.methods.mixed import mixup_of

    refused = {name for name, factory in methods.METHODS.items() if factory.mixup is None}
    assert refused == {"nal", "elr", "selc", "joint", "truncated_gce", "d2l", "sop"}
    for name in refused:
        with pytest.raises(ValueError, match=f"mixup=1 cannot be used with {name}, which stores predictions"):
            mixup_of(1.0, methods.get(name))
        assert mixup_of(None, methods.get(name)) == 0
    assert mixup_of(None, methods.get("elr_plus")) == 1
    assert mixup_of(0.0, methods.get("elr_plus")) == 0


def test_missing_unmixed_logits_raise_type_error():
    for spec in ("elr_plus", "divide_mix(warmup=0)"):
        method = methods.get(spec)
        method.prepare(training_info(LABEL))
        with pytest.raises(TypeError, match="needs the logits of unmixed inputs"):
            method.loss(outputs(networks=2), BATCH, 1)
