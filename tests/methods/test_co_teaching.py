"""Co-teaching and decoupling against numpy: the samples that each network selects for the other."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from training_info import normal, training_info

from noiseproof.data import Batch
from noiseproof.methods import CoTeaching, Decoupling, Outputs
from noiseproof.methods.co_teaching import smallest

SIZE = 20
LABEL = torch.arange(SIZE) % 3


def random_batch(seed, dtype=torch.float32):
    one, two = (normal(SIZE, 3, seed=2 * seed + k, dtype=dtype).requires_grad_() for k in range(2))
    return one, two, Batch(torch.zeros(SIZE, 1), LABEL, torch.arange(SIZE))


def gradients(method, one, two, batch, epoch):
    loss = method.loss((Outputs(one), Outputs(two)), batch, epoch)
    return loss, torch.autograd.grad(loss, (one, two))


@pytest.mark.parametrize("rate", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_each_network_trains_on_small_loss_samples_of_the_other(rate, exponent):
    method = CoTeaching(noise_rate=rate, gradual=4, exponent=exponent)
    for epoch in range(1, 7):
        one, two, batch = random_batch(epoch)
        loss, found = gradients(method, one, two, batch, epoch)
        kept = int((1 - min(rate * epoch**exponent / 4, rate)) * SIZE + 1e-6)
        wanted, chosen = 0.0, []
        for mine, peer in ((one, two), (two, one)):
            rows = cross_entropy(peer.detach(), LABEL, reduction="none").numpy()
            picked = np.argsort(rows)[: max(kept, 1)]
            chosen.append(np.isin(np.arange(SIZE), picked))
            wanted += float(cross_entropy(mine.detach()[picked], LABEL[picked]))
        assert float(loss.detach()) == pytest.approx(wanted, rel=1e-5), epoch
        for gradient, is_chosen in zip(found, chosen, strict=True):
            assert np.array_equal(gradient.abs().sum(1).numpy() > 0, is_chosen)


@pytest.mark.parametrize("count", [1, 3, 10, 128])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.3, 0.4, 0.45, 0.7, 0.99])
def test_smallest_selects_the_given_share(count, rate):
    chosen = smallest(normal(count), torch.tensor(1.0) - torch.tensor(rate))
    assert int(chosen.sum()) == max(int((100 - round(100 * rate)) * count // 100), 1)


class Seen:
    def __init__(self, accuracy):
        self.validation_accuracy = accuracy


def test_forget_rate_follows_the_highest_validation_accuracy():
    method = CoTeaching(gradual=1)
    method.prepare(training_info(LABEL)._replace(validation=10))
    kept = []
    for epoch, accuracy in enumerate((0.3, None, 0.6, 0.5), 1):
        _, found = gradients(method, *random_batch(0), epoch)
        kept.append(int((found[0].abs().sum(1) > 0).sum()))
        method.between_epochs(Seen(accuracy), epoch)
    assert kept == [SIZE, 6, 6, 12]
    assert float(method.forgotten) == pytest.approx(0.4)
    assert float(method.state_dict()["forgotten"]) == pytest.approx(0.4)


def test_missing_or_invalid_noise_rate_raises_value_error():
    with pytest.raises(ValueError, match=r"give it, such as noise_rate=0.4, or validation=0.1"):
        CoTeaching().prepare(training_info(LABEL))
    CoTeaching(noise_rate=0.2).prepare(training_info(LABEL))
    with pytest.raises(ValueError, match="noise_rate"):
        CoTeaching(noise_rate=1.0)


def test_decoupling_trains_on_samples_with_different_predictions():
    method = Decoupling(warmup=1)
    for epoch in (1, 2, 3):
        one, two, batch = random_batch(epoch)
        loss, found = gradients(method, one, two, batch, epoch)
        differ = (one.argmax(1) != two.argmax(1)) | (epoch == 1)
        assert 0 < int(differ.sum()) <= SIZE
        rows = cross_entropy(one, LABEL, reduction="none") + cross_entropy(two, LABEL, reduction="none")
        torch.testing.assert_close(loss, rows[differ].mean())
        for gradient in found:
            assert torch.equal(gradient.abs().sum(1) > 0, differ)


def test_decoupling_is_zero_without_disagreement_and_divides_by_least():
    one, _, batch = random_batch(0)
    loss, found = gradients(Decoupling(), one, one.detach().clone().requires_grad_(), batch, 1)
    assert float(loss.detach()) == 0
    assert not found[0].any()
    two = one.detach().clone()
    two[0] = two[0].roll(1)
    loss = Decoupling(least=0.5).loss((Outputs(one), Outputs(two)), batch, 1)
    rows = cross_entropy(one[:1], LABEL[:1]) + cross_entropy(two[:1], LABEL[:1])
    torch.testing.assert_close(loss, rows / (SIZE / 2))
