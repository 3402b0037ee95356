import copy
import math
import pickle

import pytest
import torch

from noiseproof import losses
from noiseproof.losses import LOSSES, MarginLoss, curve, get

MARGINS = torch.linspace(-40, 40, 321, dtype=torch.float64)


@pytest.fixture
def names():
    before = dict(LOSSES)
    yield
    LOSSES.clear()
    LOSSES.update(before)


@pytest.mark.parametrize(
    ("spec", "function"),
    [
        ("ce", lambda p, rest: rest),
        ("mae", lambda p, rest: 2 * p * rest),
        ("gce(q=0.5)", lambda p, rest: p.sqrt() * rest),
        ("aul(a=2, q=2)", lambda p, rest: p * rest * (1 + rest)),
    ],
)
def test_from_emphasis_integrates_the_value(spec, function):
    own = MarginLoss.from_emphasis(function)
    torch.testing.assert_close(own.emphasis(MARGINS), get(spec).emphasis(MARGINS))
    torch.testing.assert_close(own.value(MARGINS), get(spec).value(MARGINS), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("spec", "function"),
    [
        ("ce", lambda p, rest: -p.log()),
        ("mae", lambda p, rest: 2 * rest),
        ("gce(q=0.5)", lambda p, rest: 2 * (1 - p.sqrt())),
    ],
)
def test_from_value_differentiates_the_emphasis(spec, function):
    own = MarginLoss.from_value(function)
    torch.testing.assert_close(own.emphasis(MARGINS), get(spec).emphasis(MARGINS))


def test_from_value_emphasis_is_accurate_near_p_one():
    found = MarginLoss.from_value(lambda p, rest: -p.log()).emphasis(torch.tensor(30.0))
    assert float(found) == pytest.approx(9.357623e-14, rel=1e-4)


def test_divergent_emphasis_gives_signed_integral():
    loss = MarginLoss.from_emphasis(lambda m: torch.ones_like(m), of="margin")
    torch.testing.assert_close(loss.value(MARGINS), -MARGINS)


def test_curve_of_user_defined_loss():
    assert curve(MarginLoss.from_emphasis(lambda p, rest: p**2 * rest)).focus == pytest.approx(
        2 / 3, abs=1e-6
    )


def test_named_losses_parse_print_and_pickle(names):
    loss = MarginLoss.from_emphasis(lambda p, rest: p**2 * rest, name="squared")
    assert str(loss) == "squared"
    logits, target = torch.randn(5, 4), torch.tensor([0, 1, 2, 3, 0])
    wanted = loss(logits, target)
    for again in (get("squared"), pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss)):
        assert torch.equal(again(logits, target), wanted)
    assert str(get("unit_max(squared) + 0.5*ce")) == "unit_max(squared) + 0.5*ce"
    rows = pickle.loads(pickle.dumps(get("squared", reduction="none")))
    assert rows(logits, target).shape == (5,)


def test_unpickling_unregistered_name_raises_value_error(names):
    loss = MarginLoss.from_value(lambda p, rest: rest, name="gone")
    data = pickle.dumps(loss)
    del LOSSES["gone"]
    with pytest.raises(ValueError, match="'gone' was pickled but is not registered"):
        pickle.loads(data)


def test_printed_unnamed_loss_cannot_be_parsed():
    loss = MarginLoss.from_value(lambda p, rest: rest)
    with pytest.raises(ValueError, match="cannot read"):
        get(str(loss))


def test_from_value_rejects_names_of_the_library(names):
    with pytest.raises(ValueError, match="'ce' is already a loss of this library"):
        MarginLoss.from_value(lambda p, rest: rest, name="ce")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarginLoss.from_emphasis(lambda p, rest: p - rest), "not negative|negative"),
        (lambda: MarginLoss.from_value(lambda p, rest: p), "a loss decreases as the margin grows"),
        (lambda: MarginLoss.from_emphasis(lambda p, rest: 1 / (p - 0.5)), "finite"),
        (lambda: MarginLoss.from_emphasis(lambda p, rest: p.sum()), "keep the shape"),
        (lambda: MarginLoss.from_value(lambda p, rest: rest, of="logit"), "'logit' is unknown"),
    ],
)
def test_invalid_functions_raise_value_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class Half(MarginLoss):
    """A user-defined loss without ``emphasis``, whose value has the wrong shape."""

    name = "half"

    def value(self, margin):
        return margin.exp().neg().sum()


class Scalar(Half):
    def emphasis(self, margin):
        return torch.sigmoid(-margin)


def test_incomplete_subclasses_raise():
    logits, target = torch.zeros(2, 3), torch.tensor([0, 1])
    with pytest.raises(NotImplementedError, match=r"Half must define emphasis\(margin\)"):
        Half()(logits, target)
    with pytest.raises(ValueError, match=r"value of Scalar has shape \(\) for margins of shape \(2,\)"):
        Scalar()(logits, target)


def test_copy_keeps_its_function_if_the_name_is_registered_again():
    first = losses.MarginLoss.from_emphasis(lambda p, rest: p * rest, name="tried_twice").eval()
    second = losses.MarginLoss.from_emphasis(lambda p, rest: rest, name="tried_twice")
    logits, target = torch.zeros(1, 4), torch.tensor([0])
    for copied in (copy.copy(first), copy.deepcopy(first), losses.get(first, reduction="sum")):
        assert copied(logits, target) == first(logits, target) != second(logits, target)
        assert not copied.training
    assert first.reduction == "mean"
    copy.copy(first).weight = torch.ones(4)
    assert first.weight is None


@pytest.mark.parametrize(
    ("function", "of", "margin", "wanted"),
    [
        (lambda p, rest: rest**0.4, "p", 0.0, 2.290626),
        (lambda p, rest: rest * (p > 0.7), "p", 5.0, math.log1p(math.exp(-5))),
        (lambda p, rest: rest * (p > 0.7), "p", -3.0, -math.log(0.7)),
        (lambda margin: torch.exp(-margin.square()), "margin", 0.0, math.sqrt(math.pi) / 2),
    ],
)
def test_convergent_emphasis_is_integrated_to_infinity(function, of, margin, wanted):
    loss = losses.MarginLoss.from_emphasis(function, of=of)
    assert float(loss.value(torch.tensor(margin, dtype=torch.float64))) == pytest.approx(wanted, rel=2e-3)
    assert float(loss.value(torch.tensor(1e4, dtype=torch.float64))) == pytest.approx(0, abs=1e-8)


def test_function_that_returns_no_tensor_raises_type_error():
    with pytest.raises(TypeError, match="the function must return a tensor"):
        losses.MarginLoss.from_emphasis(lambda p, rest: 1.0)
