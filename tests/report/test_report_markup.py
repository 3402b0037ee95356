"""Figures inside a page."""

import re
from xml.etree import ElementTree

import pytest

from noiseproof.report.markup import MAX_SVG_CHARACTERS, embed
from noiseproof.report.palette import CLEAN, FAINT, legend, new_axes


def small(text="title", points=3):
    ax = new_axes(None, 3, 2)
    ax.plot(range(points), [(7 * k) % 11 for k in range(points)], color=CLEAN, label="line")
    ax.axhline(0, color=FAINT)
    ax.set_title(text)
    legend(ax)
    return ax


def parsed(text):
    return ElementTree.fromstring(str(text))  # noqa: S314 - our own


def test_ids_of_two_figures_differ_and_links_stay_inside():
    texts = [str(embed(small(), name, "a line")) for name in ("one", "two")]
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in texts]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, known in zip(texts, ids, strict=True):
        links = re.findall(r'href="#([^"]+)"', text) + re.findall(r"url\(#([^)]+)\)", text)
        assert links
        assert set(links) <= known


def test_text_of_figures_is_escaped():
    text = str(embed(small('<b>"&bold"</b> id="x" url(#y)'), "one", "a line"))
    assert "<b>" not in text
    title = [node.text for node in parsed(text).iter("{http://www.w3.org/2000/svg}text")]
    assert '<b>"&bold"</b> id="x" url(#y)' in title


def test_figures_use_the_colours_of_the_page():
    text = str(embed(small(), "one", "a line"))
    assert "#000000" not in text
    assert "stroke: currentColor" in text
    assert f"var(--clean, {CLEAN})" in text
    assert CLEAN.lower() not in text
    assert f"var(--faint, {FAINT})" in text
    assert "#ffffff" not in text


def test_figure_has_an_aria_label():
    root = parsed(embed(small(), "one", 'says "so" & more'))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'says "so" & more')
    assert root.get("width") is None


def test_embedded_figures_are_deterministic():
    assert embed(small(), "one", "a line") == embed(small(), "one", "a line")


def test_large_figures_are_embedded_as_png():
    ax = new_axes(None, 3, 2)
    for k in range(1, 9):
        ax.plot(range(4000), [(k * j * 7) % 13 for j in range(4000)])
    text = str(embed(ax, "one", 'with "quotes"'))
    assert text.startswith('<img class="onwhite" src="data:image/png;base64,')
    assert len(text) < MAX_SVG_CHARACTERS
    assert text.endswith('alt="with &#34;quotes&#34;">')


@pytest.mark.parametrize("text", ["猫と犬", "🦊", "ﷺ"])
def test_glyphs_missing_in_the_font_stay_text(text):
    assert text in str(embed(small(text), "one", "a line"))
