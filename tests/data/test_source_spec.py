"""The grammar of sources."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data.registry import parse_source
from noiseproof.grammar import written

LITERALS = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.booleans(),
    st.none(),
)


@given(st.dictionaries(st.sampled_from(["path", "size", "kind", "label"]), LITERALS))
@settings(deadline=None)
def test_literals_round_trip(options):
    written = ", ".join(f"{name}={value!r}" for name, value in options.items())
    assert parse_source(f"folder({written})") == ("folder", options)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "folder(path=open('x'))",
        "folder(path='a' + 'b')",
        "folder(path=['a'])",
        "folder(**{})",
        "folder('a')",
        "a.b",
        "3",
        "",
        "folder(",
        "f(size=-True)",
        "f(size=1j)",
        "f(x=b'a')",
        "lambda: 1",
        "(" * 3000,
        "\x00",
        "f(a=1, a=2)",
    ],
)
def test_other_expressions_are_refused(text):
    with pytest.raises(ValueError, match=r"source|plain number|twice|cannot use"):
        parse_source(text)


def test_length_is_limited():
    with pytest.raises(ValueError, match="at most 4000 characters"):
        parse_source("a" * 4001)


@pytest.mark.parametrize(
    "text", ["digits", "csv(path='my \"new\" rows.csv', label=None, size=3, stream=True)"]
)
def test_spec_round_trips(text):
    assert parse_source(written(*parse_source(text))) == parse_source(text)
    assert written(*parse_source(text)) == text
