"""Average update scale, signal to noise ratio and spread compared with explicit sums."""

import pytest
import torch

from noiseproof.dynamics import EmphasisMeter

NOISY = torch.tensor([True, False, False, True, False])
STEPS = [([0, 1, 2], 0.1), ([3, 4], 0.1), ([4, 0], 0.02), ([1], 0.5)]


def run(meter, steps=STEPS, seed=0):
    generator = torch.Generator().manual_seed(seed)
    seen = []
    for rows, lr in steps:
        emphasis = torch.rand(len(rows), generator=generator, dtype=torch.float64)
        meter.add(10 + torch.tensor(rows), emphasis=emphasis, loss=emphasis.mean(), lr=lr)
        seen += [(row, lr, 2 * e) for row, e in zip(rows, emphasis.tolist(), strict=True)]
    return seen


def mean(seen):
    return sum(lr * pull for _, lr, pull in seen) / sum(lr for _, lr, _ in seen)


def test_alpha_and_snr_are_means_weighted_by_the_learning_rate():
    meter = EmphasisMeter(10 + torch.arange(5), NOISY)
    seen = run(meter)
    found = meter.read()
    clean, noisy = [s for s in seen if not NOISY[s[0]]], [s for s in seen if NOISY[s[0]]]
    assert found["alpha"] == pytest.approx(mean(seen))
    assert found["clean_alpha"] == pytest.approx(mean(clean))
    assert found["noisy_alpha"] == pytest.approx(mean(noisy))
    assert found["snr"] == pytest.approx(mean(clean) / mean(noisy))


def test_loss_and_spread_are_those_of_the_epoch():
    meter = EmphasisMeter(torch.arange(4))
    meter.add(torch.arange(2), emphasis=torch.tensor([9.0, 5.0]), loss=torch.tensor(100.0), lr=1.0)
    meter.reset_epoch()
    meter.add(torch.arange(3), emphasis=torch.tensor([0.0, 0.5, 1.0]), loss=torch.tensor(4.0), lr=1.0)
    meter.add(torch.arange(1), emphasis=torch.tensor([3.0]), loss=torch.tensor(8.0), lr=1.0)
    found = meter.read()
    assert found["loss"] == pytest.approx((3 * 4 + 8) / 4)
    assert found["emphasis_spread"] == pytest.approx((2 / 3 + 0) / 2)
    assert found["alpha"] == pytest.approx(2 * (9 + 5 + 1.5 + 3) / 6)


def test_snr_is_none_without_clean_labels():
    meter = EmphasisMeter(10 + torch.arange(5))
    run(meter)
    found = meter.read()
    assert found["alpha"] is not None
    assert [found[name] for name in ("snr", "clean_alpha", "noisy_alpha")] == [None] * 3


@pytest.mark.parametrize("noisy", [torch.zeros(5, dtype=torch.bool), torch.ones(5, dtype=torch.bool)])
def test_snr_is_none_for_only_clean_or_only_noisy_samples(noisy):
    meter = EmphasisMeter(10 + torch.arange(5), noisy)
    run(meter)
    assert meter.read()["snr"] is None


def test_restored_meter_continues_bit_identically():
    whole, first, second = (EmphasisMeter(10 + torch.arange(5), NOISY) for _ in range(3))
    run(whole)
    run(whole, seed=1)
    run(first)
    second.restore({name: value.clone() for name, value in first.state().items()})
    run(second, seed=1)
    assert second.read() == whole.read()


def test_values_are_none_before_the_first_step():
    assert set(EmphasisMeter(torch.arange(2)).read().values()) == {None}


@pytest.mark.parametrize("noisy", [NOISY, None])
def test_add_steps_is_bitwise_independent_of_grouping(noisy):
    one_by_one, together, parts = (EmphasisMeter(10 + torch.arange(5), noisy) for _ in range(3))
    run(one_by_one)
    generator = torch.Generator().manual_seed(0)
    emphasis = [torch.rand(len(rows), generator=generator, dtype=torch.float64) for rows, _ in STEPS]

    def add(meter, begin, end):
        meter.add_steps(
            10 + torch.tensor([row for rows, _ in STEPS[begin:end] for row in rows]),
            [len(rows) for rows, _ in STEPS[begin:end]],
            emphasis=torch.cat(emphasis[begin:end]),
            losses=[float(values.mean()) for values in emphasis[begin:end]],
            rates=[lr for _, lr in STEPS[begin:end]],
        )

    add(together, 0, 4)
    for begin, end in ((0, 1), (1, 3), (3, 4)):
        add(parts, begin, end)
    assert together.read() == parts.read()
    for name, value in one_by_one.read().items():
        found = together.read()[name]
        assert found is value is None or found == pytest.approx(value, rel=1e-12), name
