"""Names from outside are words on the page and nothing else: 100 payloads in every text field."""

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

PAGE = (
    "html head meta title style body a header p h1 h2 h3 nav main section ul ol li dl dt dd strong span bdi"
)
MORE = "code div figure figcaption details summary table thead tbody tr th td img br footer"
DRAWING = "svg defs g path use text tspan clippath rect image polyline pattern"
ALLOWED = {*PAGE.split(), *MORE.split(), *DRAWING.split()}
SECURITY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Reader(HTMLParser):
    """Everything on a page that could run or fetch something."""

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
    """Images that claim to come from files of these names."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def read(self, positions):
        return torch.zeros(len(positions), 1, 8, 8)


def ran(browser, path, *, whole=False):
    """Whether a payload left its mark on the html element once everything had its time."""
    with browser.opened(path.as_uri()) as page:
        page.settle()
        assert page.run("document.querySelector('footer') !== null") or not whole
        return page.run("document.documentElement.hasAttribute('data-ran')")


@pytest.fixture(scope="module")
def server():
    """A listener that counts who calls."""
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
def test_only_our_own_tags_and_nothing_that_runs_or_fetches(hostile_pages):
    for page in hostile_pages:
        found = Reader(page.read_text(encoding="utf-8"))
        assert {tag.lower() for tag in found.tags} <= ALLOWED
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


def test_the_words_are_still_there(hostile_pages):
    words = "".join(Reader(hostile_pages[0].read_text(encoding="utf-8")).words)
    for expected in (f"<script>{RUN}</script>"[:40], "{{ 7 * 7 }}", "&lt;script&gt;", "猫", "javascript:"):
        assert expected[:12] in words
    assert "49" not in words.split("{{ 7 * 7 }}")[1][:20]


def test_no_control_character_and_no_turned_writing_reaches_a_page(hostile_pages):
    for page in hostile_pages:
        text = page.read_bytes().decode("utf-8")
        assert not [letter for letter in "\x00\x1b\u202e" if letter in text]


def test_the_alarm_works(browser, server, tmp_path):
    """The same words without escaping do run and do call: otherwise the next test proves nothing."""
    page = tmp_path / "unprotected.html"
    words = [word for word in payloads(server.address) if "\ud800" not in word and "refresh" not in word]
    page.write_text("<html><body>" + "<br>".join(words[7:12] + words[:7]), encoding="utf-8")
    assert ran(browser, page)
    assert server.calls
    server.calls.clear()


def test_without_escaping_the_same_page_does_run(browser, server, tmp_path, monkeypatch):
    """Our own template with its protection switched off, both layers: the tests below would notice."""
    environment = markup._environment()
    careless = environment.overlay(autoescape=False)
    monkeypatch.setattr(markup, "_environment", lambda: careless)
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", {})
    words = [word for word in payloads(server.address) if word.isprintable() and "refresh" not in word]
    words = [word for word in words if "<!--" not in word and "<title" not in word][:40]
    run = write_run(tmp_path / "run", example_record(120, 10, classes=40), class_names=words, outputs={})
    text = report.write(run).read_text(encoding="utf-8")
    assert "script" in Reader(text).tags
    guarded, opened = tmp_path / "guarded.html", tmp_path / "open.html"
    guarded.write_text(text, encoding="utf-8")
    opened.write_text(text.replace("Content-Security-Policy", "x-none"), encoding="utf-8")
    assert not ran(browser, guarded)
    assert server.calls == []
    assert ran(browser, opened)
    assert server.calls
    server.calls.clear()


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(True, marks=pytest.mark.slow, id="with its policy"),
        pytest.param(False, id="escaping alone"),
    ],
)
def test_nothing_runs_and_nobody_is_called(browser, server, hostile_pages, policy, tmp_path):
    server.calls.clear()
    for number, page in enumerate(hostile_pages):
        text = page.read_text(encoding="utf-8")
        opened = tmp_path / f"{number}.html"
        opened.write_text(
            text if policy else text.replace("Content-Security-Policy", "x-none"), encoding="utf-8"
        )
        assert not ran(browser, opened, whole=True)
    assert server.calls == []


@pytest.mark.slow
def test_run_names_are_escaped_too(tmp_path, monkeypatch):
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", {})
    run = write_run(tmp_path / "run", example_record(20, 2), outputs={}, metrics=[])
    for word in payloads("http://127.0.0.1:1"):
        name = "".join(letter for letter in word if letter not in "/\x00\ud800")[:60] or "empty"
        run = RunFolder(run.folder.rename(tmp_path / name))
        found = Reader(report.write(run).read_text(encoding="utf-8"))
        assert {tag.lower() for tag in found.tags} <= ALLOWED
        assert not [name for _, name, _ in found.attributes if name.lower().startswith("on")]
