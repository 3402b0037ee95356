"""Text and numbers as shown in a report."""

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.report.palette import new_axes
from noiseproof.report.text import count, figure_text, one_line, percent
from noiseproof.terminal import CONTROL

ANY_TEXT = st.text(st.characters(), max_size=80)


@given(ANY_TEXT, st.integers(2, 50))
@settings(deadline=None)
def test_one_line_limits_length_and_removes_control_characters(text, longest):
    line = one_line(text, longest)
    assert len(line) <= longest
    assert not {unicodedata.category(letter) for letter in line} & {"Cc", "Cs"}
    assert not CONTROL.search(line)
    line.encode("utf-8")
    assert one_line(line, longest) == line


@given(
    st.lists(ANY_TEXT | st.sampled_from([r"$\frac{", "$x^$", r"\$", "$$", r"\\$"]), min_size=1, max_size=3)
)
@settings(deadline=None, max_examples=25)
def test_names_are_not_parsed_as_mathtext(names):
    ax = new_axes(None, 2, 1)
    for name in names:
        ax.text(0, 0, figure_text(name))
        written = ax.texts[-1]
        assert written._preprocess_math(written.get_text()) == (one_line(name, 24), False)


def test_percent_never_rounds_to_0_or_100():
    assert [percent(share) for share in (0.0, 1.0, 0.99999, 0.00001, 0.5)] == [
        "0.0%",
        "100.0%",
        ">99.9%",
        "<0.1%",
        "50.0%",
    ]
    assert [percent(share, 0) for share in (0.0, 0.004, 0.996, 1.0)] == ["0%", "<1%", ">99%", "100%"]
    assert percent(None) == percent(float("nan")) == "\N{EN DASH}"


def test_count_uses_singular_and_plural():
    assert [count(number, "class", "classes") for number in (0, 1, 2)] == [
        "0 classes",
        "1 class",
        "2 classes",
    ]
