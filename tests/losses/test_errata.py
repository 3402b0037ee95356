"""Errors of the papers: the library uses the correct formula, and the printed one is wrong."""

import math

import pytest
import torch

from noiseproof import data, losses, noise
from noiseproof.losses import curve, expected_margin, get

P = torch.tensor(0.3, dtype=torch.float64)
DELTA = torch.logit(P)


def slope(function, p=P):
    leaf = p.clone().requires_grad_()
    (found,) = torch.autograd.grad(function(leaf), leaf)
    return -found


def test_e1_aul_and_agce_are_not_swapped():
    a, q = 1.1, 5.0
    weight = P * (1 - P) * (a - P) ** (q - 1)
    torch.testing.assert_close(get("aul(a=1.1, q=5)").emphasis(DELTA), weight)
    printed = slope(lambda p: ((a + 1) - (a + p) ** q) / q) * P * (1 - P)
    assert round(float(weight), 3) == 0.086
    assert round(float(printed), 3) == 0.807


def test_e2_agce_is_zero_at_p_one():
    a, q = 3.0, 4.0
    far = torch.tensor(60.0, dtype=torch.float64)
    assert abs(float(get("agce(a=3, q=4)").value(far))) < 1e-20
    assert ((a + 1) - (a + 1) ** q) / q == -63


def test_e3_asymmetry_of_aul():
    printed = {(1.1, 5.0): 1.0, (3.0, 0.7): (2 / 3) ** -0.3}
    right = {(1.1, 5.0): (0.1 / 1.1) ** 4, (3.0, 0.7): 1.0}
    for (a, q), wanted in right.items():
        found = curve(f"aul(a={a}, q={q})").asymmetry
        assert found == pytest.approx(wanted, rel=1e-6)
        assert found != pytest.approx(printed[a, q], rel=1e-2)


def test_e4_expected_margin_has_k_minus_one():
    assert expected_margin(100) == pytest.approx(-5.0864, abs=5e-5)
    assert expected_margin(10) == pytest.approx(-2.6018, abs=5e-5)
    others = torch.randn(200_000, 99, generator=torch.Generator().manual_seed(0))
    simulated = -float(others.logsumexp(1).mean())
    assert abs(simulated - expected_margin(100)) < 0.003
    assert abs(simulated + 5.097) > 0.008
    few = -float(others[:, :9].logsumexp(1).mean())
    assert few == pytest.approx(-2.616, abs=0.003)
    assert round(2.616 - abs(expected_margin(10)), 3) == 0.014
    assert round(2.717 - 2.616, 3) == 0.101


def nce_bounds(logits, target):
    log_p = logits.log_softmax(1)
    gamma = 1 / -log_p.sum(1)
    classes = logits.shape[1]
    own = -log_p.gather(1, target[:, None]).squeeze(1)
    epsilon = classes * own * gamma
    p = (-own).exp()
    printed = 2 * gamma * (1 + epsilon) * (1 - p)
    right = 2 * gamma * ((1 - p) + epsilon * (1 - 1 / classes))
    return printed, right


def test_e7_bound_of_the_nce_gradient():
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(4000, 10, dtype=torch.float64, generator=generator)
    target = torch.randint(10, (4000,), generator=generator)
    leaf = logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(get("nce", reduction="sum")(leaf, target), leaf)
    norm = gradient.abs().sum(1)
    printed, right = nce_bounds(logits, target)
    assert (norm <= right * (1 + 1e-12)).all()
    assert (norm > printed).sum() > 100


def test_e7_the_example_with_p_09():
    p = torch.cat([torch.tensor([0.9]), torch.full((9,), 0.1 / 9)]).double()
    leaf = p.log().unsqueeze(0).requires_grad_()
    (gradient,) = torch.autograd.grad(get("nce")(leaf, torch.tensor([0])), leaf)
    printed, right = nce_bounds(leaf.detach(), torch.tensor([0]))
    norm = float(gradient.abs().sum())
    assert norm == pytest.approx(0.005948, abs=1e-6)
    assert float(printed) == pytest.approx(0.005053, abs=1e-6)
    assert float(right) == pytest.approx(0.006076, abs=1e-6)


def test_e8_scale_rescales_the_margin_and_not_the_gradient():
    tau, size = 2.6, abs(expected_margin(100))
    scaled, mae = get("scale(mae, tau=2.6, num_classes=100)"), get("mae")
    torch.testing.assert_close(scaled.emphasis(DELTA), mae.emphasis(DELTA * tau / size), rtol=0, atol=0)
    leaf = DELTA.clone().requires_grad_()
    (induced,) = torch.autograd.grad(mae.value(leaf * tau / size), leaf)
    assert float(-induced / scaled.emphasis(DELTA)) == pytest.approx(tau / size)


@pytest.mark.parametrize(("cut", "wanted"), [(1e-2, 6.76), (1e-4, 9.11), (1e-6, 11.41), (1e-8, 13.71)])
def test_e11_the_printed_imae_integral_diverges(cut, wanted):
    """The integral from p = 1/2 to 1 - cut grows without bound, so the loss cannot be 0 at p = 1."""
    end = torch.logit(torch.tensor(1 - cut, dtype=torch.float64))
    unsaturated = get("imae(T=8, saturation=None)")
    area = float(unsaturated.value(torch.zeros((), dtype=torch.float64)) - unsaturated.value(end))
    assert area == pytest.approx(wanted, abs=0.006)


def test_e11_with_a_saturation_the_loss_is_finite_and_ends_at_zero():
    loss = get("imae(T=8)")
    margin = torch.tensor([-1e4, 0.0, 17.33, 1e4], dtype=torch.float64)
    value = loss.value(margin)
    assert value.isfinite().all()
    assert (value >= 0).all()
    assert value[2:].abs().max() < 1e-9
    assert float(loss.emphasis(margin)[3]) == 0


def test_e12_gce_is_gr_with_beta_two():
    margin = torch.linspace(-8, 8, 33, dtype=torch.float64)
    gce = get("gce(q=0.7)").emphasis(margin)
    torch.testing.assert_close(get('gr(beta=2, lam=0.7, g="identity")').emphasis(margin), gce)
    printed = get('gr(beta=1, lam=0.7, g="identity")').emphasis(margin)
    torch.testing.assert_close(2 * printed, gce)


def train_on_noisy_digits(saturation: str) -> tuple[float, float]:
    """Test accuracy and the largest size of a logit after 400 steps on digits with 40% wrong labels."""
    loss = losses.get(f"imae(T=8, saturation={saturation}, normalize='none')")
    train, test = data.load("digits"), data.load("digits", split="test")
    labels = noise.corrupt(train.label, "symmetric(0.4)", num_classes=10, seed=0).labels
    inputs, test_inputs = (part.inputs.flatten(1) - 0.3 for part in (train, test))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(64, 128),
            torch.nn.ReLU(),
            torch.nn.Linear(128, 128),
            torch.nn.ReLU(),
            torch.nn.Linear(128, 10),
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        largest = 0.0
        for _ in range(400):
            batch = torch.randint(len(labels), (128,))
            logits = model(inputs[batch])
            largest = max(largest, float(logits.detach().abs().max()))
            optimizer.zero_grad()
            loss(logits, labels[batch]).backward()
            optimizer.step()
    accuracy = (model(test_inputs).argmax(1) == test.label).float().mean()
    return float(accuracy), largest


def test_e28_without_a_saturation_imae_collapses():
    accuracy, largest = train_on_noisy_digits("None")
    assert accuracy < 0.3
    assert largest > 1000 or not math.isfinite(largest)


def test_e28_with_a_saturation_imae_trains():
    accuracy, largest = train_on_noisy_digits("17.33")
    assert accuracy > 0.7
    assert largest < 200
