import pytest
import torch

from noiseproof.losses import MarginLoss, curve, get, unit_max

MARGINS = torch.linspace(-40, 40, 8001, dtype=torch.float64)
INNER = [
    "ce",
    "mae",
    "focal",
    "gce(q=0.4)",
    "sce(q=0.95)",
    "aul",
    "agce(a=3, q=4)",
    "ael",
    "gr",
    "imae",
    "ce + 2*mae",
]


@pytest.mark.parametrize("inner", INNER)
def test_largest_emphasis_is_one(inner):
    emphasis = unit_max(get(inner)).emphasis(MARGINS)
    assert float(emphasis.max()) == pytest.approx(1, abs=1e-4)
    assert float(emphasis.max()) <= 1 + 1e-12
    assert curve(f"unit_max({inner})").peak == 1


@pytest.mark.parametrize("inner", INNER)
def test_value_and_emphasis_are_divided_alike(inner):
    wrapped, bare = unit_max(get(inner)), get(inner)
    torch.testing.assert_close(wrapped.value(MARGINS) * bare.peak().emphasis, bare.value(MARGINS))


def test_scaling_does_not_change_the_maximum():
    logits, target = torch.randn(8, 10), torch.randint(10, (8,))
    found = get("unit_max(scale(mae, tau=2.6))")(logits, target)
    torch.testing.assert_close(found, 2 * get("scale(mae, tau=2.6)")(logits, target))


def test_a_sum_with_a_scaled_part_is_measured_when_the_classes_are_known():
    logits, target = torch.randn(8, 10), torch.randint(10, (8,))
    found = get("unit_max(ce + scale(mae))")(logits, target)
    peak = curve("ce + scale(mae)", 10).peak
    torch.testing.assert_close(found, get("ce + scale(mae)")(logits, target) / peak)


def test_unbounded_and_empty_curves_are_refused():
    with pytest.raises(ValueError, match="without bound"):
        unit_max(MarginLoss.from_emphasis(lambda m: (-m).clamp_min(0), of="margin"))
    with pytest.raises(ValueError, match="no positive maximum"):
        unit_max(MarginLoss.from_emphasis(lambda m: torch.zeros_like(m), of="margin"))


@pytest.mark.parametrize("inner", ["gr({})", "scale(imae({}))", "ce + gr({})"])
def test_of_a_loss_normalised_over_the_batch_it_takes_the_curve(inner):
    """Divided by the largest emphasis instead of the batch mean, not by both."""
    logits, target = torch.randn(8, 10), torch.randint(10, (8,))
    base, plain = inner.format("normalize='batch'"), inner.format("normalize='none'")
    loss = get(f"unit_max({base})")
    torch.testing.assert_close(loss(logits, target), get(f"unit_max({plain})")(logits, target))
    assert get(base).compares_rows()
    assert not loss.compares_rows()
