import math

import pytest

from noiseproof import losses
from noiseproof.losses.checks import choice, number
from noiseproof.losses.printing import hyperparameters

WRAPPERS = ("cr", "peer", "scale", "shift")


def build(name: str, **parameters: object) -> losses.Loss:
    inner = ("mae",) if name in WRAPPERS else ()
    return losses.LOSSES[name](*inner, **parameters)


OUT_OF_RANGE = [
    ("focal", "gamma", -0.1, "gamma >= 0"),
    ("rce", "A", 0, "A < 0"),
    ("rce", "A", 1, "A < 0"),
    ("sl", "alpha", 0, "alpha > 0"),
    ("sl", "alpha", -1, "alpha > 0"),
    ("sl", "beta", 0, "beta > 0"),
    ("sl", "beta", -1.0, "beta > 0"),
    ("sl", "A", 0, "A < 0"),
    ("sce", "q", -0.1, "0 <= q <= 1"),
    ("sce", "q", 1.1, "0 <= q <= 1"),
    ("gce", "q", 0, "0 < q <= 1"),
    ("gce", "q", -0.5, "0 < q <= 1"),
    ("gce", "q", 1.1, "0 < q <= 1"),
    ("truncated_gce", "q", 0, "0 < q <= 1"),
    ("truncated_gce", "k", -0.1, "0 <= k < 1"),
    ("truncated_gce", "k", 1, "0 <= k < 1"),
    ("tce", "order", 0, "a whole number from 1 to 1000"),
    ("tce", "order", -2, "a whole number from 1 to 1000"),
    ("tce", "order", 1.5, "a whole number from 1 to 1000"),
    ("tce", "order", 1001, "a whole number from 1 to 1000"),
    ("aul", "a", 1, "a > 1"),
    ("aul", "a", 0.5, "a > 1"),
    ("aul", "q", 0, "q > 0"),
    ("agce", "a", 0, "a > 0"),
    ("agce", "a", -1, "a > 0"),
    ("agce", "q", 0, "q > 0"),
    ("ael", "q", 0, "q >= 0.02"),
    ("ael", "q", -1, "q >= 0.02"),
    ("ael", "q", 1e-5, "q >= 0.02"),
    ("gr", "beta", -1, "beta >= 0"),
    ("gr", "lam", -0.5, "lam >= 0"),
    ("gr", "saturation", 0, "saturation > 0"),
    ("gr", "saturation", -17.33, "saturation > 0"),
    ("imae", "T", -1, "T >= 0"),
    ("imae", "saturation", 0, "saturation > 0"),
    ("nal_fixed", "tau", 0, "0 < tau < 1"),
    ("nal_fixed", "tau", 1, "0 < tau < 1"),
    ("nfl", "gamma", -1, "gamma >= 0"),
    ("mse", "alpha", -0.1, "alpha >= 0"),
    ("gls", "alpha", 1, "alpha < 1"),
    ("gls", "alpha", 2.5, "alpha < 1"),
    ("ls", "alpha", 1, "alpha < 1"),
    ("cr", "beta", -1, "beta >= 0"),
    ("peer", "alpha", -1, "alpha >= 0"),
    ("peer", "seed", -1, "a whole number from 0 to"),
    ("peer", "seed", 0.5, "a whole number from 0 to"),
    ("scale", "tau", 0, "tau > 0"),
    ("scale", "tau", -2.6, "tau > 0"),
    ("scale", "initial_margin", 0, "initial_margin > 0"),
    ("scale", "initial_margin", -5, "initial_margin > 0"),
    ("shift", "tau", 0, "tau > 0"),
    ("shift", "initial_margin", 0, "initial_margin > 0"),
]
NUMBERS = {
    "focal": ["gamma"],
    "rce": ["A"],
    "sl": ["alpha", "beta", "A"],
    "sce": ["q"],
    "gce": ["q"],
    "truncated_gce": ["q", "k"],
    "tce": ["order"],
    "aul": ["a", "q"],
    "agce": ["a", "q"],
    "ael": ["q"],
    "gr": ["beta", "lam", "saturation"],
    "imae": ["T", "saturation"],
    "nal_fixed": ["tau"],
    "nfl": ["gamma"],
    "mse": ["alpha"],
    "gls": ["alpha"],
    "cr": ["beta"],
    "peer": ["alpha", "seed"],
    "scale": ["tau", "initial_margin"],
    "shift": ["tau", "initial_margin", "by"],
}
EVERY_NUMBER = [(name, parameter) for name, found in NUMBERS.items() for parameter in found]
OTHER = {"g", "normalize", "num_classes", "prior"}


def test_tables_contain_all_hyper_parameters():
    built_in = [kind for kind in losses.LOSSES.values() if kind in vars(losses).values()]
    known = {(kind.name, parameter) for kind in built_in for parameter in hyperparameters(kind)}
    assert len(built_in) >= 26
    assert known - set(EVERY_NUMBER) == {(n, p) for n, p in known if p in OTHER}
    bounded = {(name, parameter) for name, parameter, *_ in OUT_OF_RANGE}
    assert set(EVERY_NUMBER) - bounded == {("shift", "by")}


@pytest.mark.parametrize(("name", "parameter", "value", "rule"), OUT_OF_RANGE)
def test_out_of_range_values_raise_value_error(name, parameter, value, rule):
    with pytest.raises(ValueError) as caught:
        build(name, **{parameter: value})
    shown = {"ls": "gls"}.get(name, name)
    start = f"{shown}: {parameter}={value!r} is out of range, it must satisfy "
    assert str(caught.value).startswith(start + rule)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("name", "parameter"), EVERY_NUMBER)
def test_values_that_are_not_finite_raise_value_error(name, parameter, value):
    with pytest.raises(ValueError) as caught:
        build(name, **{parameter: value})
    assert f"{name}: {parameter}={value!r} is out of range" in str(caught.value)


@pytest.mark.parametrize("value", ["0.5", True, False, 1j, [0.5], b"1"])
@pytest.mark.parametrize(("name", "parameter"), EVERY_NUMBER)
def test_values_that_are_not_numbers_raise_type_error(name, parameter, value):
    with pytest.raises(TypeError) as caught:
        build(name, **{parameter: value})
    assert f"{name}: {parameter} must be a number, got {value!r}" in str(caught.value)


MAY_BE_NONE = {("gr", "saturation"), ("imae", "saturation"), ("scale", "initial_margin")} | {
    ("shift", parameter) for parameter in NUMBERS["shift"]
}


@pytest.mark.parametrize(("name", "parameter"), EVERY_NUMBER)
def test_none_raises_type_error_unless_allowed(name, parameter):
    if (name, parameter) in MAY_BE_NONE:
        build(name, **{parameter: None})
    else:
        with pytest.raises(TypeError, match=f"{name}: {parameter} must be a number, got None"):
            build(name, **{parameter: None})


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("focal", "gamma", 0),
        ("rce", "A", -1e-3),
        ("sce", "q", 0),
        ("sce", "q", 1),
        ("gce", "q", 1),
        ("truncated_gce", "k", 0),
        ("tce", "order", 1),
        ("tce", "order", 1000),
        ("aul", "a", 1.001),
        ("gr", "beta", 0),
        ("gr", "lam", 0),
        ("imae", "T", 0),
        ("nfl", "gamma", 0),
        ("mse", "alpha", 0),
        ("gls", "alpha", -3),
        ("gls", "alpha", 0.999),
        ("cr", "beta", 0),
        ("peer", "alpha", 0),
        ("peer", "seed", 0),
        ("shift", "by", -4),
        ("shift", "by", 0),
        ("scale", "num_classes", 2),
    ],
)
def test_boundary_values_are_accepted(name, parameter, value):
    assert getattr(build(name, **{parameter: value}), parameter) == value


@pytest.mark.parametrize(("name", "parameter"), [("tce", "order"), ("peer", "seed")])
def test_whole_floats_become_integers(name, parameter):
    found = getattr(build(name, **{parameter: 3.0}), parameter)
    assert type(found) is int
    assert found == 3


@pytest.mark.parametrize("name", ["gr", "imae"])
@pytest.mark.parametrize("word", ["foo", "", "Batch", None, 1])
def test_unknown_normalize_raises_value_error(name, word):
    with pytest.raises(ValueError) as caught:
        build(name, normalize=word)
    assert f"{name}: normalize={word!r} is unknown, choose one of 'none', 'batch'" in str(caught.value)


@pytest.mark.parametrize("word", ["foo", "", "EXP", None, 1, math.exp])
def test_unknown_g_raises_value_error(word):
    with pytest.raises(ValueError) as caught:
        losses.GR(g=word)
    assert f"gr: g={word!r} is unknown, choose one of 'exp', 'identity'" in str(caught.value)


@pytest.mark.parametrize("word", ["foo", "average", None, 1])
@pytest.mark.parametrize("name", ["ce", "nce", "scale", "peer"])
def test_unknown_reduction_raises_value_error(name, word):
    with pytest.raises(ValueError) as caught:
        build(name, reduction=word)
    assert f"{name}: reduction={word!r} is unknown, choose one of 'mean', 'sum', 'none'" in str(caught.value)


def test_overflowing_gr_weights_raise_value_error():
    with pytest.raises(ValueError, match=r"gr: beta=1000\.0 gives weights up to exp\(385\), which overflows"):
        losses.GR(beta=1000)
    assert losses.GR(beta=1000, g="identity").beta == 1000


@pytest.mark.parametrize("name", ["scale", "shift"])
@pytest.mark.parametrize("classes", [1, 0, -5])
def test_fewer_than_two_classes_raise_value_error(name, classes):
    with pytest.raises(ValueError, match=f"{name}: num_classes={classes} is out of range.* from 2 to"):
        build(name, num_classes=classes)


@pytest.mark.parametrize("other", [{"tau": 2.6}, {"num_classes": 10}, {"initial_margin": 3.0}])
def test_shift_with_by_and_tau_raises_value_error(other):
    with pytest.raises(ValueError, match="shift: give either by, or tau"):
        losses.Shift("mae", by=1.0, **other)


@pytest.mark.parametrize("classes", [1, 0, -1])
def test_expected_margin_needs_two_classes(classes):
    with pytest.raises(ValueError, match=f"num_classes={classes}: a margin needs at least 2 classes"):
        losses.expected_margin(classes)


@pytest.mark.parametrize("std", [-0.1, 11.0, math.nan, math.inf])
def test_expected_margin_with_invalid_std_raises_value_error(std):
    with pytest.raises(ValueError, match=f"std={std} must be between 0 and 10"):
        losses.expected_margin(10, std)


@pytest.mark.parametrize("name", [n for n in NUMBERS if n not in ("scale", "shift")])
def test_positional_hyper_parameters_raise_type_error(name):
    inner = ("mae",) if name in WRAPPERS else ()
    with pytest.raises(TypeError, match="positional argument"):
        losses.LOSSES[name](*inner, 0.5)


def test_number_returns_float_and_applies_the_rule():
    found = number("x", "y", 3, "y > 2", lambda y: y > 2)
    assert type(found) is float
    with pytest.raises(ValueError, match=r"^x: y=1 is out of range, it must satisfy y > 2$"):
        number("x", "y", 1, "y > 2", lambda y: y > 2)


def test_choice_lists_the_options():
    assert choice("x", "y", "a", ("a", "b")) == "a"
    with pytest.raises(ValueError, match=r"^x: y='c' is unknown, choose one of 'a', 'b'$"):
        choice("x", "y", "c", ("a", "b"))


@pytest.mark.parametrize("classes", [10.5, float("nan"), 10**400])
def test_number_of_classes_must_be_an_integer(classes):
    with pytest.raises(ValueError, match="scale: num_classes"):
        losses.Scale("mae", num_classes=classes)
    with pytest.raises(TypeError, match="scale: num_classes must be a number"):
        losses.Scale("mae", num_classes="10")


def test_numbers_larger_than_floats_raise_value_error():
    for spec in ("gce(q=1" + "0" * 400 + ")", "1" + "0" * 400 + "*ce", "tce(order=1" + "0" * 400 + ")"):
        with pytest.raises(ValueError, match="out of range"):
            losses.get(spec)


def test_gr_with_large_lam_does_not_overflow():
    assert losses.GR(lam=1000.0).peak().emphasis == pytest.approx(0.5, abs=1e-2)


def test_gr_with_zero_weights_raises_value_error():
    with pytest.raises(ValueError, match="gives every sample weight 0"):
        losses.GR(beta=0, g="identity")


def test_imae_error_names_T():
    with pytest.raises(ValueError, match=r"imae: T=1000\.0 gives weights"):
        losses.IMAE(T=1000)


@pytest.mark.parametrize("spec", ["agce(a=3.0, q=70.0)", "aul(a=2.0, q=130.0)", "agce(a=3.0, q=600.0)"])
def test_powers_that_overflow_float32_raise_value_error(spec):
    with pytest.raises(ValueError, match=r"q=\S+ is out of range.*here q <= "):
        losses.get(spec)
