"""``LossMethod``: a loss as a method."""

import pytest
import torch
from training_info import normal, training_info

from noiseproof import losses
from noiseproof.methods import get


def test_cr_uses_label_frequencies_of_the_training_data():
    method = get(None, loss="cr(ce, beta=0.5)")
    method.prepare(training_info([0, 0, 0, 1], classes=3))
    logits, label = normal(2, 3), torch.tensor([0, 2])
    row_losses = -logits.log_softmax(1)
    frequency = torch.tensor([0.75, 0.25, 0.0], dtype=torch.float64)
    wanted = row_losses[[0, 1], label] - 0.5 * (row_losses * frequency).sum(1)
    torch.testing.assert_close(method.step(logits, label, label, 1), wanted.mean())


@pytest.mark.parametrize(
    ("spec", "follows"),
    [
        ("ce", True),
        ("gr(beta=8.0, lam=0.5)", False),
        ('gr(beta=8.0, lam=0.5, normalize="none")', True),
        ("unit_max(gr(beta=8.0, lam=0.5))", True),
        ('gr(beta=8.0, lam=0.5, normalize="batch")', False),
        ('ce + imae(normalize="batch")', False),
        ("nce", False),
        ("cr(ce)", False),
    ],
)
def test_emphasis_follows_margin(spec, follows):
    assert get(None, loss=spec).emphasis_follows_margin is follows


def test_loss_method_prints_and_computes_as_its_loss():
    method = get(None, loss="gce(q=0.4)")
    logits, label = normal(3, 4), torch.tensor([0, 1, 2])
    assert str(method) == "gce(q=0.4)"
    torch.testing.assert_close(method.step(logits, label, label, 1), losses.get("gce(q=0.4)")(logits, label))
