import pytest

from noiseproof.losses import MarginLoss, curve
from noiseproof.losses.curves.curve import MAY_UNDERFIT_BELOW, TAU, UNDERFITS_BELOW, advise

UNSATURATED = (
    "without a saturation fitted samples keep their weight and the logits grow without bound:"
    " leave saturation at 17.33"
)


def advice(spec: str, classes: int) -> list[str]:
    return advise(curve(spec, classes), classes)


def test_mae_with_100_classes_gets_advice_to_scale():
    wanted = (
        "with 100 classes this loss starts with 2.4% of its full emphasis: expect underfitting;"
        " try scale(mae, tau=2.6)"
    )
    assert advise(curve("mae"), 100) == [wanted]
    assert advice("mae", 100) == [wanted]


@pytest.mark.parametrize("classes", [2, 3, 10, 100, 1000, 20000])
@pytest.mark.parametrize("spec", ["ce", "focal(gamma=0.5)", "unit_max(ce)", "sl(alpha=6)"])
def test_losses_with_high_initial_share_get_no_advice(spec, classes):
    assert advice(spec, classes) == []


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_mae_with_few_classes_gets_no_advice(classes):
    assert advice("mae", classes) == []


@pytest.mark.parametrize("spec", ["mae", "gce(q=0.7)", "nal_fixed", "unit_max(mae)", "rce", "ael"])
@pytest.mark.parametrize("classes", [10, 30, 100, 1000])
def test_advice_depends_on_the_initial_share(spec, classes):
    share = curve(spec).initial_share(classes)
    lines = advice(spec, classes)
    assert len(lines) == (share < MAY_UNDERFIT_BELOW)
    for line in lines:
        assert f"with {classes} classes this loss starts with {100 * share:.1f}% of its full emphasis" in line
        assert ("expect underfitting" in line) == (share < UNDERFITS_BELOW)
        assert ("it may underfit" in line) == (share >= UNDERFITS_BELOW)


def test_intermediate_initial_share_may_underfit():
    spec = 'imae(normalize="none")'
    assert UNDERFITS_BELOW < curve(spec).initial_share(100) < MAY_UNDERFIT_BELOW
    assert "it may underfit" in advice(spec, 100)[0]


@pytest.mark.parametrize("spec", ["mae", "gce(q=0.7)", "unit_max(mae)", "unit_max(gr)", "agce(a=1.6, q=2)"])
def test_suggested_loss_has_higher_initial_share(spec):
    line = advice(spec, 1000)[0]
    suggested = line.rpartition("; try ")[2]
    assert suggested == f"scale({curve(spec).loss}, tau={TAU})"
    assert curve(suggested, 1000).initial_share(1000) > 2 * curve(spec).initial_share(1000)


def test_no_suggestion_if_scale_does_not_help():
    line = advice("shift(mae, by=30)", 100)[0]
    assert "expect underfitting" in line
    assert "try" not in line


def test_scaled_loss_gets_advice_for_smaller_tau():
    line = advice("scale(mae, tau=6.0)", 100)[0]
    assert line.endswith("expect underfitting; try a smaller tau")
    assert advice("scale(mae, tau=2.6)", 100) == []


def test_two_classes_get_no_suggestion_to_scale():
    line = advice("truncated_gce(k=0.9)", 2)[0]
    assert line == "with 2 classes this loss starts with 0.0% of its full emphasis: expect underfitting"


@pytest.mark.parametrize("spec", ["gr(saturation=None)", "imae(saturation=None)"])
def test_gr_without_saturation_gets_a_warning(spec):
    assert advice(spec, 10) == [UNSATURATED]


@pytest.mark.parametrize(
    "spec", ["gr", "imae", "gr(saturation=5)", "gr(g='identity')", "gr(g='identity', lam=0)"]
)
def test_gr_with_saturation_or_identity_gets_no_warning(spec):
    assert UNSATURATED not in advice(spec, 10)


def test_underfitting_and_saturation_warnings_combine():
    lines = advice("gr(beta=16, lam=1, saturation=None, normalize='none')", 1000)
    assert len(lines) == 2
    assert "expect underfitting" in lines[0]
    assert lines[1] == UNSATURATED


@pytest.mark.parametrize("spec", ["gr", "imae", "scale(gr, tau=9.0)", "ce + gr(beta=12)"])
def test_batch_normalised_losses_get_no_advice(spec):
    assert curve(spec, 1000).initial_share(1000) < MAY_UNDERFIT_BELOW
    assert advice(spec, 1000) == []


def test_user_defined_losses_get_advice():
    loss = MarginLoss.from_emphasis(lambda p, rest: p * rest)
    assert "expect underfitting; try scale(" in advise(curve(loss), 100)[0]
