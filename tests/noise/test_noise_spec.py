"""Noise specs: round trips and errors; nothing is evaluated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.noise import NOISES, Asymmetric, Symmetric, get


@pytest.mark.parametrize(
    "spec",
    [
        "symmetric(0.4)",
        "symmetric(0.4, inclusive=True)",
        'asymmetric(0.4, map="cifar10")',
        'asymmetric(0.4, map="9>1,2>0", mutated=True)',
        "sibling(0.2)",
        'pair(0.4, grouping="index_block", block=10)',
        "cycle(1.0)",
        "instance(0.4, std=0.2)",
        'human("a folder/labels.npz", key="worse_label")',
        "open_set(0.0)",
    ],
)
def test_specs_round_trip(spec):
    assert str(get(spec)) == spec
    assert get(str(get(spec))) == get(spec)
    assert get(get(spec)) == get(spec)


def test_whitespace_and_quotes_do_not_matter():
    assert get(" symmetric( rate = .4 ,inclusive = False)") == Symmetric(0.4)
    assert get("asymmetric(+0.4, '9 > 1')") == Asymmetric(0.4, "9 > 1")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("symetric(0.4)", "unknown noise 'symetric', did you mean 'symmetric'"),
        (
            "symmetric(0.4, inclusiv=True)",
            "unknown parameter of symmetric 'inclusiv', did you mean 'inclusive'",
        ),
        ("symmetric", "missing a required argument: 'rate'"),
        ("symmetric(0.4, True, 3)", "too many positional arguments"),
        ("symmetric(0.4, rate=0.2)", "multiple values for argument 'rate'"),
        ("symmetric(1.4)", r"symmetric: rate=1.4 is out of range, it must satisfy 0 <= rate <= 1"),
        ("symmetric(-0.1)", r"rate=-0.1 is out of range"),
        ("symmetric(1e999)", r"rate=inf is out of range"),
        ("symmetric(0.2 + 0.2)", r"'0.2 \+ 0.2' is not a plain number"),
        ("symmetric(-True)", "'-True' is not a plain number"),
        ("symmetric(__import__('os').getcwd())", "is not a plain number"),
        ("symmetric(**{'rate': 0.4})", "cannot use"),
        ("symmetric(*[0.4])", "not a plain number"),
        ("(lambda: 0)()", "as a noise spec"),
        ("os.system('ls')", "as a noise spec"),
        ("symmetric(0.4) + pair(0.2)", "as a noise spec"),
        ("symmetric(", "cannot read the noise spec"),
        ("", "cannot read the noise spec"),
        ("x" * 5000, "at most 2000 characters, got 5000"),
        ("symmetric(" + "-" * 1500 + "1)", "not a plain number|cannot read"),
        ('asymmetric(0.4, map="cifar")', "cannot read 'cifar' in the class map"),
        ('asymmetric(0.4, map="1>1")', "maps class 1 to itself"),
        ('asymmetric(0.4, map="1>2,1>3")', "maps class 1 a second time: '1>3'"),
        ('asymmetric(0.4, map="1>-2")', "cannot read '1>-2'"),
        ('pair(0.4, grouping="blocks")', "grouping='blocks' is unknown, choose one of 'superclass'"),
        ("pair(0.4, block=1)", "block=1 must be a whole number of at least 2"),
        ("instance(0.4, std=-1)", "std=-1 is out of range"),
    ],
)
def test_invalid_specs_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        get(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "symmetric('0.4')",
        "symmetric(True)",
        "symmetric(None)",
        "symmetric(0.4, inclusive=1)",
        "asymmetric(0.4, 3)",
    ],
)
def test_values_of_the_wrong_type_are_refused(spec):
    with pytest.raises(TypeError, match=r"must be|is a name"):
        get(spec)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="symetricpa(0.4,=)'\"[]{}*+-:>_ \n", max_size=40))
def test_random_text_is_a_noise_or_a_value_error(text):
    try:
        made = get(text)
    except (ValueError, TypeError):
        return
    assert type(made) in NOISES.values()


@settings(deadline=None)
@given(st.floats(0, 1), st.booleans())
def test_rates_round_trip_exactly(rate, inclusive):
    noise = Symmetric(rate, inclusive=inclusive)
    assert get(str(noise)) == noise


def test_noises_can_be_registered():
    NOISES["mine"] = Symmetric
    try:
        assert get("mine(0.4)") == Symmetric(0.4)
    finally:
        del NOISES["mine"]
