"""Pages with 100 payloads in every text field show them as text and do not run them."""

import http.server
import threading
from html.parser import HTMLParser

import pytest
import torch
from payloads import RUN, payloads
from small_runs import SETTINGS, write_run

from noiseproof import report
from noiseproof.data import LabelledData
from noiseproof.dynamics import RunFolder
from noiseproof.report import markup
from noiseproof.report.evidence import Evidence
from noiseproof.testing import example_record

STRUCTURE_TAGS = (
    "html head meta title style body a header p h1 h2 h3 nav main section ul ol li dl dt dd strong span bdi"
)
CONTENT_TAGS = "code div figure figcaption details summary table thead tbody tr th td img br footer"
SVG_TAGS = "svg defs g path use text tspan clippath rect image polyline pattern"
ALLOWED_TAGS = {*STRUCTURE_TAGS.split(), *CONTENT_TAGS.split(), *SVG_TAGS.split()}
SECURITY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class PageReader(HTMLParser):
    """Collect the tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.words.append(data)


class PathInputs:
    """Images whose file names are payloads."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def read(self, positions):
        return torch.zeros(len(positions), 1, 8, 8)


def payload_ran(browser, path, *, whole=False):
    """Whether a payload has set its attribute on the html element after the page has settled."""
    with browser.opened(path.as_uri()) as page:
        page.settle()
        assert page.run("document.querySelector('footer') !== null") or not whole
        return page.run("document.documentElement.hasAttribute('data-ran')")


@pytest.fixture(scope="module")
def server():
    """A server that records requests."""
    calls = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            calls.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words):
            pass

    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    found.address, found.calls = f"http://127.0.0.1:{found.server_port}", calls
    yield found
    found.shutdown()
    found.server_close()


@pytest.fixture(scope="module")
def hostile_pages(tmp_path_factory, server):
    """Pages whose class names, files, columns, settings and run names are payloads."""
    folder, words = tmp_path_factory.mktemp("hostile"), payloads(server.address)
    record = example_record(600, 6, classes=100, wrong=0.5)
    settings = SETTINGS | {f"{number} {word}": word for number, word in enumerate(words)}
    run = write_run(folder / "run", record, settings=settings, class_names=words)
    names = [LabelledData(PathInputs((words[k:] + words[:k]) * 6), record.label) for k in (0, 50)]
    whole = report.write(run, folder / "page.html", data=names[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("noiseproof.report.page.RUN_FIGURES", {})
        files = report.write(run, folder / "files.html", data=names[1])
        patch.setattr("noiseproof.report.suspects.VALUES", len(words))
        table = LabelledData(torch.ones(600, len(words)), record.label, columns=words)
        rows = report.write(run, folder / "rows.html", data=table)
    return [whole, files, rows, _comparison(folder, words)]


def _comparison(folder, words):
    small = example_record(40, 3)
    runs = []
    for number, word in enumerate(words):
        evidence = Evidence(small)
        named = {"loss": word, "model": word, "data": word, "method": None, "noise": word}
        evidence.__dict__.update(settings=named, metrics=[{"epoch": 1, "test_accuracy": number / 100}])
        runs.append(evidence)
    return report.write_comparison(runs, folder / "comparison.html")


@pytest.mark.slow
def test_pages_contain_allowed_tags_and_no_scripts_or_requests(hostile_pages):
    for page in hostile_pages:
        found = PageReader(page.read_text(encoding="utf-8"))
        assert {tag.lower() for tag in found.tags} <= ALLOWED_TAGS
        for tag, name, value in found.attributes:
            assert not name.lower().startswith("on"), (tag, name, value)
            if name in ("src", "href", "xlink:href"):
                assert value.startswith(("#", "data:image/png;base64,", "data:image/jpeg;base64,")), (
                    tag,
                    value,
                )
        policies = [value for _, name, value in found.attributes if name == "content"]
        assert policies[0].startswith(SECURITY)
        assert not {"action", "srcset", "formaction"} & {name for _, name, _ in found.attributes}


def test_payloads_are_shown_as_text(hostile_pages):
    words = "".join(PageReader(hostile_pages[0].read_text(encoding="utf-8")).words)
    for expected in (f"<script>{RUN}</script>"[:40], "{{ 7 * 7 }}", "&lt;script&gt;", "猫", "javascript:"):
        assert expected[:12] in words
    assert "49" not in words.split("{{ 7 * 7 }}")[1][:20]


def test_pages_contain_no_control_or_bidi_characters(hostile_pages):
    for page in hostile_pages:
        text = page.read_bytes().decode("utf-8")
        assert not [letter for letter in "\x00\x1b\u202e" if letter in text]


def test_payloads_run_on_an_unprotected_page(browser, server, tmp_path):
    """Payloads without escaping run and send requests: the browser and the server detect them."""
    page = tmp_path / "unprotected.html"
    words = [word for word in payloads(server.address) if "\ud800" not in word and "refresh" not in word]
    page.write_text("<html><body>" + "<br>".join(words[7:12] + words[:7]), encoding="utf-8")
    assert payload_ran(browser, page)
    assert server.calls
    server.calls.clear()


def test_payloads_run_without_escaping_and_policy(browser, server, tmp_path, monkeypatch):
    """Without escaping the policy still blocks payloads; without both they run."""
    environment = markup._environment()
    careless = environment.overlay(autoescape=False)
    monkeypatch.setattr(markup, "_environment", lambda: careless)
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", {})
    words = [word for word in payloads(server.address) if word.isprintable() and "refresh" not in word]
    words = [word for word in words if "<!--" not in word and "<title" not in word][:40]
    run = write_run(tmp_path / "run", example_record(120, 10, classes=40), class_names=words, outputs={})
    text = report.write(run).read_text(encoding="utf-8")
    assert "script" in PageReader(text).tags
    guarded, opened = tmp_path / "guarded.html", tmp_path / "open.html"
    guarded.write_text(text, encoding="utf-8")
    opened.write_text(text.replace("Content-Security-Policy", "x-none"), encoding="utf-8")
    assert not payload_ran(browser, guarded)
    assert server.calls == []
    assert payload_ran(browser, opened)
    assert server.calls
    server.calls.clear()


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(True, marks=pytest.mark.slow, id="with its policy"),
        pytest.param(False, id="escaping alone"),
    ],
)
def test_payloads_do_not_run_and_send_no_requests(browser, server, hostile_pages, policy, tmp_path):
    server.calls.clear()
    for number, page in enumerate(hostile_pages):
        text = page.read_text(encoding="utf-8")
        opened = tmp_path / f"{number}.html"
        opened.write_text(
            text if policy else text.replace("Content-Security-Policy", "x-none"), encoding="utf-8"
        )
        assert not payload_ran(browser, opened, whole=True)
    assert server.calls == []


@pytest.mark.slow
def test_run_names_are_escaped(tmp_path, monkeypatch):
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", {})
    run = write_run(tmp_path / "run", example_record(20, 2), outputs={}, metrics=[])
    for word in payloads("http://127.0.0.1:1"):
        name = "".join(letter for letter in word if letter not in "/\x00\ud800")[:60] or "empty"
        run = RunFolder(run.folder.rename(tmp_path / name))
        found = PageReader(report.write(run).read_text(encoding="utf-8"))
        assert {tag.lower() for tag in found.tags} <= ALLOWED_TAGS
        assert not [name for _, name, _ in found.attributes if name.lower().startswith("on")]
