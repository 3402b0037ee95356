import pytest
import torch

from noiseproof.losses import curve, expected_margin, get, scale, shift

MARGINS = torch.linspace(-20, 20, 81, dtype=torch.float64)


def test_scale_matches_its_definition():
    inner, size = get("gce(q=0.7)"), 4.0
    found = scale(inner, tau=2.0, initial_margin=size)
    assert torch.equal(found.emphasis(MARGINS), inner.emphasis(MARGINS * 0.5))
    torch.testing.assert_close(found.value(MARGINS), 2 * inner.value(MARGINS * 0.5))


def test_shift_matches_its_definition():
    inner = get("gce(q=0.7)")
    found = shift(inner, tau=2.0, initial_margin=5.0)
    assert torch.equal(found.emphasis(MARGINS), inner.emphasis(MARGINS + 3.0))
    assert torch.equal(shift(inner, by=3.0).emphasis(MARGINS), found.emphasis(MARGINS))


@pytest.mark.parametrize("wrapper", ["scale", "shift"])
def test_scale_and_shift_map_the_initial_margin_to_minus_tau(wrapper):
    start = torch.tensor(expected_margin(100), dtype=torch.float64)
    found = get(f"{wrapper}(mae, tau=2.6, num_classes=100)").emphasis(start)
    torch.testing.assert_close(found, get("mae").emphasis(torch.tensor(-2.6, dtype=torch.float64)))


@pytest.mark.parametrize("wrapper", ["scale", "shift"])
@pytest.mark.parametrize("classes", [3, 9, 10, 50])
def test_number_of_classes_defaults_to_that_of_the_logits(wrapper, classes):
    logits, target = torch.randn(6, classes), torch.randint(classes, (6,))
    found = get(f"{wrapper}(mae)")(logits, target)
    torch.testing.assert_close(found, get(f"{wrapper}(mae, num_classes={classes})")(logits, target))


def test_logit_bias_is_a_shift():
    logits, target = torch.randn(6, 5), torch.tensor([0, 1, 2, 3, 4, 0])
    biased = logits + 1.5 * torch.nn.functional.one_hot(target, 5)
    torch.testing.assert_close(get("shift(mae, by=1.5)")(logits, target), get("mae")(biased, target))


@pytest.mark.parametrize("wrapper", ["scale", "shift"])
def test_value_and_emphasis_need_number_of_classes(wrapper):
    for name in ("value", "emphasis"):
        with pytest.raises(ValueError, match="number of classes"):
            getattr(get(f"{wrapper}(mae)"), name)(MARGINS)


@pytest.mark.parametrize(
    "spec", ["scale({})", "shift({})", "unit_max(scale({}))", "scale({}, num_classes=2)"]
)
@pytest.mark.parametrize("inner", ["mae", "gce", "ce + mae"])
def test_two_classes_are_not_transformed(spec, inner):
    generator = torch.Generator().manual_seed(0)
    logits, target = torch.randn(8, 2, generator=generator), torch.randint(2, (8,), generator=generator)
    plain = "unit_max({})" if "unit_max" in spec else "{}"
    found, wanted = (
        torch.func.grad_and_value(get(text.format(inner)))(logits, target) for text in (spec, plain)
    )
    torch.testing.assert_close(found, wanted)


def test_two_classes_are_transformed_with_initial_margin():
    logits, target = torch.tensor([[1.0, 0.0]]), torch.tensor([0])
    found = get("scale(mae, tau=2.0, initial_margin=4.0)")(logits, target)
    torch.testing.assert_close(found, 2 * get("mae")(logits / 2, target))


@pytest.mark.parametrize("inner", ["nce", "cr(ce)", "mse"])
def test_transform_of_other_losses_raises_type_error(inner):
    for wrapper in ("scale", "shift", "unit_max", "binary"):
        with pytest.raises(TypeError, match="MarginLoss"):
            get(f"{wrapper}({inner})")


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", ["scale", "shift"])
def test_compiled_transform_with_dynamic_number_of_classes(wrapper):
    torch.compiler.reset()
    loss = get(f"{wrapper}(mae)")
    compiled = torch.compile(loss, fullgraph=True, dynamic=True, backend="aot_eager")
    for classes in (12, 30):
        logits, target = torch.randn(6, classes), torch.randint(classes, (6,))
        torch.testing.assert_close(compiled(logits, target), loss(logits, target))


def test_focus_of_shift_by_a_number():
    for spec in ("shift(mae, by=1.0)", "unit_max(shift(mae, by=1.0))"):
        assert curve(spec).focus == pytest.approx(torch.tensor(-1.0).sigmoid().item(), rel=1e-3)


@pytest.mark.parametrize("spec", ["shift(mae, by=1e30)", "scale(mae, tau=1e30)", "shift(mae, tau=1e30)"])
def test_transforms_beyond_the_range_raise_value_error(spec):
    with pytest.raises(ValueError, match=r"1e\+30 is out of range"):
        get(spec)
