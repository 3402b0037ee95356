"""The site is built without warnings, contains every page, and loads no external resources."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: the site is built by make docs only")

ROOT = Path(__file__).parents[1]
SITE = runpy.run_path(str(ROOT / "docs/site.py"))
DOCSTRINGS = runpy.run_path(str(ROOT / "docs/docstrings.py"))


def test_external_resources_are_detected(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://a.example"></a><script src="https://b.example/x.js"></script>'
        '<img src="//c.example/x.png">'
        '<link rel="stylesheet" href="https://d.example/x.css"><link rel="canonical" href="https://e.example">'
    )
    (tmp_path / "own.css").write_text('p {background: url("https://f.example/x.png")} @import "x.css";')
    found = " ".join(SITE["remote_assets"](tmp_path))
    assert re.findall(r"(\w)\.example", found) == ["f", "b", "c", "d"]


def test_docstrings_are_converted_to_markdown():
    args = "Args:\n    one: a\n        b\n    two, three: c"
    parts = ["First.", args, "Example:\n    >>> 1\n    1", "Shape:\n    (N,)"]
    assert DOCSTRINGS["as_markdown"]("\n\n".join(parts)).split("\n\n") == [
        *("First.", "**Args**", "- `one`: a b\n- `two, three`: c"),
        *("**Example**", "```pycon\n>>> 1\n1\n```", "**Shape:** (N,)"),
    ]


@pytest.mark.slow
def test_site_builds_strictly(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603
    for page in (ROOT / "docs").glob("*.md"):
        assert (tmp_path / page.stem / "index.html").exists() or page.stem == "index"
    losses = (tmp_path / "api/losses/index.html").read_text(encoding="utf-8")
    assert "<math" in losses
    assert ":math:" not in losses
    assert "GCE" in (tmp_path / "search/search_index.json").read_text(encoding="utf-8")
