"""The Python of the documents runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["docs/other_tasks.md", "docs/own_loop.md"]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_python_of_a_page(page, tmp_path, monkeypatch):
    """Blocks of a page run one after the other, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "document"}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)  # noqa: S102
