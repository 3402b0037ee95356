"""The Python of the documents runs, pages written from the code are up to date, and so are the pictures."""

import doctest
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    str(page.relative_to(ROOT)): CODE.findall(page.read_text(encoding="utf-8"))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}
SLOW = {"README.md", "docs/guide.md"}
"""Pages whose code takes more than two seconds."""
ELSEWHERE = {"docs/finding_labels.md", "docs/reviewing.md"}
"""Pages about files and names that the reader has."""
GALLERY = runpy.run_path(str(ROOT / "docs/make_gallery.py"))


def run(code, page, names):
    """Statements, or a session whose output is compared."""
    if not code.startswith(">>>"):
        exec(compile(code, page, "exec"), names)  # noqa: S102
        return
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner, said = doctest.DocTestRunner(optionflags=flags), []
    session = doctest.DocTestParser().get_doctest(code, names, page, page, 0)
    assert session.examples
    runner.run(session, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)
    names.update(session.globs)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page in SLOW else [])
        for page, found in PAGES.items()
        if found and page not in ELSEWHERE
    ],
)
def test_python_of_a_page(page, tmp_path, monkeypatch):
    """Blocks of a page run one after the other, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "document"}
    for code in PAGES[page]:
        if "transformers" in code:
            pytest.importorskip("transformers", reason="transformers is not installed: the page is not run")
        run(code, page, names)


@pytest.mark.parametrize("name", ["losses.md", "methods.md"])
def test_pages_written_from_the_code(name):
    now = (ROOT / "docs" / name).read_text(encoding="utf-8") == GALLERY["pages"]()[name]
    assert now, "a docstring has changed: run python docs/make_gallery.py --pages"


def test_every_loss_has_a_picture():
    from noiseproof import losses

    assert set(GALLERY["SHOWN"]) | set(GALLERY["ALIASES"]) == set(losses.BUILT_IN)
    for name in GALLERY["SHOWN"]:
        assert "</svg>" in (GALLERY["IMAGES"] / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["gce", "nce"])
def test_a_picture_is_of_the_code(name):
    """The path of the default, as it is drawn now."""
    kept = (GALLERY["IMAGES"] / f"{name}.svg").read_text(encoding="utf-8")
    now = GALLERY["drawn"](name)
    paths = [re.findall(r'<path d="(M [^"]{200,})"', text) for text in (kept, now)]
    assert paths[0]
    assert paths[0] == paths[1]
