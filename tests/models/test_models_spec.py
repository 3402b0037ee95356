"""Spec strings are calls with literals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.models.spec import parse

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).map(lambda word: f"x_{word}")
VALUES = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.text(max_size=10),
)


@settings(deadline=None, max_examples=200)
@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=4))
def test_spec_round_trips(name, options):
    written = ", ".join(f"{option}={value!r}" for option, value in options.items())
    assert parse(f"{name}({written})") == (name, options)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="a1_.:/-()=,'\"[]{}*+ \n\\", max_size=30))
def test_random_text_is_parsed_or_a_value_error(text):
    try:
        name, _ = parse(text)
    except ValueError:
        return
    assert text.strip().startswith(name)


@pytest.mark.parametrize("text", ["resnet20", " resnet20 ", "resnet20()", "resnet20 ( )"])
def test_spec_without_options(text):
    assert parse(text) == ("resnet20", {})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mlp(hidden=__import__('os'))", "__import__"),
        ("mlp(hidden=1+1)", r"1\+1"),
        ("mlp(hidden=[1])", r"\[1\]"),
        ("mlp(hidden=-'a')", "-'a'"),
        ("mlp(hidden=-True)", "-True"),
        ("mlp(**x)", r"\*\*x"),
        ("mlp(3)", "'3' in .* options are passed by keyword"),
        ("mlp()(a=1)", "cannot read"),
        ("mlp()+(1)", "cannot read"),
        ("mlp(a=1", "cannot read"),
        ("mlp(a=1, a=2)", "'a' is given twice"),
        ("mlp(a=(yield))", "yield"),
        ("", "cannot read"),
        ("3", "cannot read"),
        ("mlp(" + "(" * 900, "cannot read"),
        ("m" * 1001, "at most 1000"),
    ],
)
def test_invalid_specs_are_refused(text, shown):
    with pytest.raises(ValueError, match=shown):
        parse(text)
