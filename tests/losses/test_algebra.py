import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.losses import Loss, MarginLoss, get

MARGINS = torch.linspace(-20, 20, 41, dtype=torch.float64)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_sum_adds_values_and_emphases(a, b):
    total = a * get("ce") + b * get("gce")
    assert isinstance(total, MarginLoss)
    for part in ("value", "emphasis"):
        wanted = a * getattr(get("ce"), part)(MARGINS) + b * getattr(get("gce"), part)(MARGINS)
        torch.testing.assert_close(getattr(total, part)(MARGINS), wanted)


def test_sum_with_other_loss_is_not_a_margin_loss():
    total = 10 * get("nce") + get("agce")
    assert isinstance(total, Loss)
    assert not isinstance(total, MarginLoss)
    logits, target = torch.randn(6, 4), torch.tensor([0, 1, 2, 3, 0, 1])
    wanted = 10 * get("nce")(logits, target) + get("agce")(logits, target)
    torch.testing.assert_close(total(logits, target), wanted)


def test_parts_are_not_reduced():
    total = get("ce", reduction="none") + get("mae", reduction="none")
    logits, target = torch.randn(6, 4), torch.tensor([0, 1, 2, 3, 0, 1])
    assert total(logits, target).shape == (6,)


@pytest.mark.parametrize(
    ("make", "spec"),
    [
        (lambda: 10 * get("nce") + 0.1 * get("agce(a=1.8, q=3)"), "10*nce + 0.1*agce(a=1.8, q=3.0)"),
        (lambda: get("ce") + get("mae") + get("nce"), "ce + mae + nce"),
        (lambda: 2 * (get("ce") + 3 * get("mae")), "2*ce + 6*mae"),
        (lambda: get("ce") * 2, "2*ce"),
        (lambda: sum([get("ce"), get("mae")]), "ce + mae"),
        (lambda: get("unit_max(ce + 2*mae)"), "unit_max(ce + 2*mae)"),
    ],
)
def test_sums_print_as_their_spec(make, spec):
    assert str(make()) == spec
    assert str(get(spec)) == spec


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), True])
def test_factors_are_positive_numbers(factor):
    with pytest.raises((ValueError, TypeError), match="factor"):
        factor * get("ce")


def test_sum_of_losses_with_different_settings_raises_value_error():
    with pytest.raises(ValueError, match="differ in reduction"):
        get("ce", reduction="sum") + get("mae")
    with pytest.raises(ValueError, match="differ in reduction"):
        get("ce", weight=torch.ones(3)) + get("mae")
    both = get("ce", ignore_index=7) + get("mae", ignore_index=7)
    assert both.ignore_index == 7


def test_invalid_operands_raise_type_error():
    with pytest.raises(TypeError):
        get("ce") + 1
    with pytest.raises(TypeError):
        get("ce") * "2"


def test_sum_contains_the_state_of_its_parts():
    total = get("ce + peer(ce)").train()
    total(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))
    assert [int(v) for k, v in total.state_dict().items() if k.endswith("step")] == [1]


@pytest.mark.parametrize(("outer", "inner"), [(10, 1e308), (1e-200, 1e-200)])
def test_overflowing_product_of_factors_raises_value_error(outer, inner):
    with pytest.raises(ValueError, match="factor"):
        outer * (inner * get("mae"))


def test_sum_of_binary_losses_raises_type_error():
    with pytest.raises(TypeError, match="inside binary"):
        get("binary(ce) + ce")
    get("binary(ce + mae)")
