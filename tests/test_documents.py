"""The Python of the documents runs; generated pages and pictures are up to date."""

import doctest
import json
import re
import runpy
import shlex
import sys
import types
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from noiseproof.cli.main import main

ROOT = Path(__file__).parents[1]
CODE = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    str(page.relative_to(ROOT)): CODE.findall(page.read_text(encoding="utf-8"))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}
NOTEBOOK = json.loads((ROOT / "docs/start.ipynb").read_text(encoding="utf-8"))
PAGES["docs/start.ipynb"] = [
    ("python", "".join(cell["source"])) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"
]
STARTS = {
    "docs/start_table.md": 0.75,
    "docs/start_text.md": 0.75,
    "docs/start_images.md": 0.85,
    "docs/start.ipynb": 0.75,
}
"""Pages whose commands are run too, and the least share of marked labels that are really wrong."""
BEFORE = {
    "docs/finding_labels.md": "from sklearn.datasets import load_iris\nX, y = load_iris(return_X_y=True)",
    "docs/reviewing.md": "from noiseproof import train\n"
    "config = train.Config(data='digits', noise='symmetric(0.2)', loss='gce(q=0.7)', epochs=12)\n"
    "train.fit(config.replace(model='mlp(norm=True)', lr=0.05, out='runs/mine'))",
    "README.md": "from sklearn.datasets import load_iris\n"
    "table = load_iris(as_frame=True).frame.rename(columns={'target': 'species'})",
}
"""What the reader of a page has: data, a run."""
SLOW = {
    *BEFORE,
    "docs/tables_and_text.md",
    "docs/guide.md",
    "docs/add_a_loss.md",
    "docs/from_cleanlab.md",
    *STARTS,
}
"""Pages whose code takes more than two seconds."""
ELSEWHERE = {"docs/training_on_several_gpus.md"}
"""Pages about a script of the reader, for several processes."""
GALLERY = runpy.run_path(str(ROOT / "docs/make_gallery.py"))


def reader(folder, monkeypatch):
    """An empty folder, and the names of an empty module, where torch.compile finds the classes of a page."""
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, "document", types.ModuleType("document"))
    return vars(sys.modules["document"])


def run(code, page, names):
    """Statements, or a session whose output is compared."""
    if "transformers" in code:
        pytest.importorskip("transformers", reason="transformers is not installed: the page is not run")
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
        if "python" in dict(found) and page not in {*ELSEWHERE, *STARTS}
    ],
)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """Blocks of a page run one after the other, in one namespace, in an empty folder."""
    names = reader(tmp_path, monkeypatch)
    for kind, code in [("python", BEFORE.get(page, "")), *PAGES[page]]:
        if kind == "python":
            run(code, page, names)


@pytest.mark.slow
@pytest.mark.parametrize("page", STARTS)
def test_start_pages_run(page, tmp_path, monkeypatch):
    """Python and commands run in order, except the review, which waits for a user."""
    names = reader(tmp_path, monkeypatch)
    for kind, code in PAGES[page]:
        if kind == "python":
            run(code, page, names)
            continue
        for line in re.findall(r"^\$ (.*)$", code.replace("\\\n", " "), re.MULTILINE):
            if " labels review " not in line:
                command(monkeypatch, shlex.split(line, comments=True))
    assert names["share"] > STARTS[page]
    plt.close("all")


def command(monkeypatch, words):
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, words


def test_notebook_was_run():
    """From top to bottom, without an error; make notebook runs it again."""
    cells = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(output["output_type"] != "error" for cell in cells for output in cell["outputs"])


@pytest.mark.parametrize("name", ["losses.md", "methods.md"])
def test_generated_pages_are_current(name):
    now = (ROOT / "docs" / name).read_text(encoding="utf-8") == GALLERY["pages"]()[name]
    assert now, "a docstring has changed: run python docs/make_gallery.py --pages"


def test_every_loss_has_a_picture():
    from noiseproof import losses

    assert set(GALLERY["SHOWN"]) | set(GALLERY["ALIASES"]) == set(losses.BUILT_IN)
    for name in GALLERY["SHOWN"]:
        assert "</svg>" in (GALLERY["IMAGES"] / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["gce", "nce"])
def test_pictures_match_the_code(name):
    """The stored path of the default loss equals the one drawn now."""
    kept = (GALLERY["IMAGES"] / f"{name}.svg").read_text(encoding="utf-8")
    now = GALLERY["drawn"](name)
    paths = [re.findall(r'<path d="(M [^"]{200,})"', text) for text in (kept, now)]
    assert paths[0]
    assert paths[0] == paths[1]
