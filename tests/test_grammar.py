import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.grammar import chain, literal, nearest, options, read, unknown


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()))
def test_plain_values_round_trip(value):
    assert literal(read(repr(value), "spec"), repr(value)) == value


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_random_text_is_a_literal_or_a_value_error(text):
    assert literal(read(repr(text), "spec"), repr(text)) == text
    with contextlib.suppress(ValueError):
        read(text, "spec")


@pytest.mark.parametrize(
    "text", ["1j", "b'x'", "...", "[1]", "-'x'", "-True", "~1", "not 1", "x", "f'{1}'", "1 + 1"]
)
def test_other_expressions_are_not_literals(text):
    with pytest.raises(ValueError, match="is not a plain number"):
        literal(read(text, "spec"), text)


@pytest.mark.parametrize("text", ["", "a b", "a; b", "a\nb", "x = 1", "(" * 300, "ce # why", "ｃｅ", "a\0"])
def test_invalid_expressions_are_refused(text):
    with pytest.raises(ValueError, match="cannot read the spec"):
        read(text, "spec")


def test_length_is_limited():
    with pytest.raises(ValueError, match="at most 10 characters"):
        read("a" * 11, "spec", 10)


def test_repeated_and_unnamed_keywords_are_refused():
    def call(text):
        node = read(text, "spec")
        assert isinstance(node, ast.Call)
        return options(node.keywords, text)

    assert list(call("f(a=1, b=2)")) == ["a", "b"]
    for text in ("f(a=1, a=2)", "f(**x)"):
        with pytest.raises(ValueError, match=r"twice|cannot use '\*\*x'"):
            call(text)


def test_chains_keep_their_order():
    assert [ast.unparse(n) for n in chain(read("a + b*2 + c", "spec"), ast.Add)] == ["a", "b * 2", "c"]


def test_messages_suggest_the_nearest_name():
    assert unknown("loss", "mea", ["mae", "ce"]) == "unknown loss 'mea', did you mean 'mae'? (known: mae, ce)"
    assert unknown("loss", "zzz", []) == "unknown loss 'zzz' (known: none)"


def test_message_lists_the_first_of_many_names():
    message = nearest("colour", [f"column {number}" for number in range(5000)])
    assert message.endswith("column 49, and 4,950 more)")
    assert nearest("x", ["ab", "cd"]) == " (known: ab, cd)"
