"""Claims of the paper about noise attention, on digits with 40% wrong labels."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from noiseproof.data import Batch
from noiseproof.methods import NAL, Outputs, TrainingInfo, confusions
from noiseproof.models.seeding import build
from noiseproof.noise import corrupt

SAMPLES, EPOCHS, RATE = 500, 60, 0.4


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    images, truth = load_digits(return_X_y=True)
    inputs = torch.tensor(images[:SAMPLES], dtype=torch.float32) / 16
    clean = torch.tensor(truth[:SAMPLES])
    noisy = corrupt(clean, f"symmetric({RATE})", num_classes=10, seed=0, exact=True).labels
    return inputs, noisy, clean


def train(digits, method=None):
    """A plain loop: network, method, Adam; method None trains with cross entropy."""
    inputs, label, _ = digits
    body = build(lambda: nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()), 0)
    head = build(lambda: nn.Linear(256, 10), 1)
    parameters = [*body.parameters(), *head.parameters()]
    if method is not None:
        method.prepare(TrainingInfo(label, torch.arange(SAMPLES), 10, 256, EPOCHS, seed=0))
        parameters += list(method.parameters())
    optimizer = torch.optim.Adam(parameters, lr=0.003)
    for epoch in range(1, EPOCHS + 1):
        for rows in torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch)).split(50):
            features = body(inputs[rows])
            logits = head(features)
            loss = cross_entropy(logits, label[rows])
            if method is not None:
                loss = method.loss(
                    (Outputs(logits, features),), Batch(inputs[rows], label[rows], rows), epoch
                )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        features = body(inputs)
        return head(features).argmax(1), features


@pytest.fixture(scope="module")
def trained(digits):
    method = NAL(lam=0.5, start=1000)
    prediction, features = train(digits, method)
    return prediction, torch.sigmoid(method.attention(features)).detach()


def test_attention_separates_clean_from_wrong_labels(digits, trained):
    _, noisy, clean = digits
    wrong, tau = noisy != clean, trained[1]
    ahead = (tau[~wrong].unsqueeze(1) > tau[wrong]).double().mean()
    assert float(ahead) > 0.85, "share of (clean, wrong) pairs in which the clean sample has more attention"
    assert float(tau[~wrong].mean() - tau[wrong].mean()) > 0.15


def test_training_accuracy_is_near_the_share_of_right_labels(digits, trained):
    """Cross entropy memorises nearly all wrong labels."""
    noisy = digits[1]
    memorised = float((train(digits)[0] == noisy).double().mean())
    agreement = float((trained[0] == noisy).double().mean())
    assert abs(agreement - (1 - RATE)) < 0.1
    assert memorised > 0.9


def test_targets_correct_labels(digits):
    _, noisy, clean = digits
    method = NAL(lam=0.5, start=20, period=5, alpha=0.7)
    train(digits, method)
    found = confusions(method, noisy, clean, 10)
    before, after = (float(c.diagonal().sum()) / SAMPLES for c in found)
    assert before == pytest.approx(1 - RATE, abs=0.01)
    assert after > 0.9
