"""All pages on the papers as one file."""

import re
from pathlib import Path

import pytest

from noiseproof.papers.report_page import PAGES, anchor, page

TABLES = Path(__file__).parents[2] / "tables"


def test_report_embeds_every_page_and_its_images():
    html = page(TABLES)
    for name in PAGES:
        assert (f'id="{anchor(name)}"' in html) == (TABLES / name).is_file()
    assert len(re.findall(r'<img src="data:image/(?:png|svg)', html)) == html.count("<img") > 3
    assert not re.search(r'(?:src|href)="(?!data:|#|https://)', html)
    assert "<script" not in html
    for target in re.findall(r'href="#([^"]+)"', html):
        assert f'id="{target}"' in html


def test_html_in_a_page_is_escaped(tmp_path):
    (tmp_path / "gr.md").write_text(
        "# A\n<script>alert(1)</script> [x](javascript:alert(1)) [b](https://a.b)\n"
    )
    html = page(tmp_path)
    assert "<script>" not in html
    assert "javascript:" not in re.findall(r'href="([^"]*)"', html)
    assert 'href="https://a.b"' in html


def test_folder_without_pages_raises_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no page such as gr\.md"):
        page(tmp_path)
