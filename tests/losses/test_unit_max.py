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
def test_maximum_emphasis_is_one(inner):
    emphasis = unit_max(get(inner)).emphasis(MARGINS)
    assert float(emphasis.max()) == pytest.approx(1, abs=1e-4)
    assert float(emphasis.max()) <= 1 + 1e-12
    assert curve(f"unit_max({inner})").peak == 1


@pytest.mark.parametrize("inner", INNER)
def test_value_is_divided_by_the_maximum_emphasis(inner):
    wrapped, bare = unit_max(get(inner)), get(inner)
    torch.testing.assert_close(wrapped.value(MARGINS) * bare.peak().emphasis, bare.value(MARGINS))


def test_scaling_does_not_change_the_maximum():
    logits, target = torch.randn(8, 10), torch.randint(10, (8,))
    found = get("unit_max(scale(mae, tau=2.6))")(logits, target)
    torch.testing.assert_close(found, 2 * get("scale(mae, tau=2.6)")(logits, target))


def test_sum_with_scaled_part_uses_number_of_classes_of_the_logits():
    logits, target = torch.randn(8, 10), torch.randint(10, (8,))
    found = get("unit_max(ce + scale(mae))")(logits, target)
    peak = curve("ce + scale(mae)", 10).peak
    torch.testing.assert_close(found, get("ce + scale(mae)")(logits, target) / peak)


def test_unbounded_and_zero_curves_raise_value_error():
    with pytest.raises(ValueError, match="without bound"):
        unit_max(MarginLoss.from_emphasis(lambda m: (-m).clamp_min(0), of="margin"))
    with pytest.raises(ValueError, match="no positive maximum"):
        unit_max(MarginLoss.from_emphasis(lambda m: torch.zeros_like(m), of="margin"))


@pytest.mark.parametrize("inner", ["gr({})", "scale(imae({}))", "ce + gr({})"])
def test_unit_max_replaces_batch_normalisation(inner):
    """The loss is divided by the maximum emphasis instead of the batch mean, not by both."""
    logits, target = torch.randn(8, 10), torch.randint(10, (8,))
    base, plain = inner.format("normalize='batch'"), inner.format("normalize='none'")
    loss = get(f"unit_max({base})")
    torch.testing.assert_close(loss(logits, target), get(f"unit_max({plain})")(logits, target))
    assert get(base).compares_rows()
    assert not loss.compares_rows()
