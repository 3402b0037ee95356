"""report.html is complete, small, deterministic and accessible."""

import dataclasses
import itertools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from PIL import Image
from small_runs import SETTINGS, write_run

from noiseproof import report
from noiseproof.data import LabelledData
from noiseproof.dynamics import RunFolder
from noiseproof.testing import example_record

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("page") / "a run", example_record(1000), class_names="abcd")


@pytest.fixture(scope="module")
def page(run):
    return report.write(run)


@pytest.fixture(scope="module")
def comparison(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    runs = [write_run(folder / loss, settings=SETTINGS | {"loss": loss}) for loss in ("ce", "mae")]
    return report.write_comparison([str(run.folder) for run in runs], folder / "new" / "comparison.html")


class Outline(HTMLParser):
    """Tags with their attributes, in order."""

    def __init__(self, path):
        super().__init__()
        self.found = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def all(self, *tags):
        return [attributes for tag, attributes in self.found if tag in tags]


def test_report_adds_one_file_to_the_run_folder(run, page):
    assert page == run.folder / "report.html"
    files = "config.json manifest.json metrics.jsonl outputs.safetensors record report.html result.json"
    assert sorted(path.name for path in run.folder.iterdir()) == files.split()


def test_report_is_deterministic(run, page, tmp_path):
    again = report.write(RunFolder(run.folder), tmp_path / "deep" / "again.html")
    assert again.read_bytes() == page.read_bytes()


def test_report_contains_every_figure_or_the_reason(page):
    text = page.read_text(encoding="utf-8")
    shown = set(re.findall(r'<figure id="(\w+)"', text))
    assert shown == set(report.page_figures.RUN_FIGURES) - {"tau"}
    assert "Noise attention: tau was not recorded" in text


@pytest.mark.parametrize("kind", ["page", "comparison"])
def test_pages_have_no_remote_resources_and_no_scripts(kind, request):
    path = request.getfixturevalue(kind)
    outline = Outline(path)
    assert not outline.all("script", "link", "iframe", "object", "embed", "form", "base", "audio", "video")
    addresses = [
        found[name] for _, found in outline.found for name in ("src", "href", "xlink:href") if name in found
    ]
    assert addresses
    assert all(address.startswith(("#", "data:image/")) for address in addresses)
    assert not re.findall(r"@import|url\((?!#)", path.read_text(encoding="utf-8"))
    order = [found.get("http-equiv") or found.get("charset") for found in outline.all("meta")]
    assert order[:2] == ["utf-8", "Content-Security-Policy"]


@pytest.mark.parametrize("kind", ["page", "comparison"])
def test_pages_are_accessible(kind, request):
    outline = Outline(request.getfixturevalue(kind))
    for picture in outline.all("img"):
        assert len(picture["alt"]) > 10
    drawings = outline.all("svg")
    assert drawings
    assert all(drawing["role"] == "img" and len(drawing["aria-label"]) > 20 for drawing in drawings)
    tags = [tag for tag, _ in outline.found]
    assert all(tags[place + 1] == "summary" for place, tag in enumerate(tags) if tag == "details")
    regions = [found for found in outline.all("div") if found.get("class") == "scroll"]
    assert regions
    assert all(found["tabindex"] == "0" and found["aria-label"] for found in regions)
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert next(found for found in outline.all("a"))["href"] == "#main"
    ids = [found["id"] for _, found in outline.found if "id" in found]
    assert len(ids) == len(set(ids))
    targets = {found["href"][1:] for found in outline.all("a")}
    assert targets <= set(ids)
    assert outline.all("html")[0]["lang"] == "en"
    assert not [found for _, found in outline.found if int(found.get("tabindex", 0)) > 0]


@pytest.mark.slow
def test_report_on_50000_samples_is_below_two_megabytes(tmp_path):
    record = example_record(50_000, 20, classes=100, wrong=0.4)
    noise = torch.randint(
        0, 256, (500, 3, 64, 64), generator=torch.Generator().manual_seed(0), dtype=torch.uint8
    )
    data = LabelledData(noise.repeat(100, 1, 1, 1), record.label)
    path = report.write(write_run(tmp_path / "run", record), data=data)
    text = path.read_text(encoding="utf-8")
    assert text.count("data:image/jpeg") == 60
    assert path.stat().st_size < 2 * MEGABYTE


def test_report_of_an_unfinished_run_without_test_data(tmp_path):
    record = example_record(30, 1, known=False)
    run = write_run(tmp_path / "run", record, metrics=[], outputs={})
    (run.folder / "result.json").unlink()
    text = report.write(run).read_text(encoding="utf-8")
    assert "not finished" in text
    assert "There was no test data." in text


def test_report_with_unvisited_samples_shows_no_nan(tmp_path):
    record = example_record(60, 3)
    record.margin[:, ::2], record.prediction[:, ::2] = torch.nan, -1
    record.margin[1], record.prediction[1] = torch.nan, -1
    text = report.write(write_run(tmp_path / "run", record, outputs={})).read_text(encoding="utf-8")
    assert "nan" not in re.sub(r'"data:[^"]*"', "", text).lower().replace("banana", "")


def test_report_of_a_record_needs_a_path():
    with pytest.raises(ValueError, match="pass path="):
        report.write(example_record())


def test_report_of_nal_shows_its_attention(tmp_path, monkeypatch):
    shown = {name: report.page_figures.RUN_FIGURES[name] for name in ("margins", "tau")}
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", shown)
    record = example_record(80)
    record = dataclasses.replace(record, extra={"tau": torch.sigmoid(record.margin.float()).half()})
    run = write_run(tmp_path / "run", record, settings=SETTINGS | {"method": "nal"}, outputs={})
    text = report.write(run).read_text(encoding="utf-8")
    assert '<figure id="tau"' in text
    assert "emphasis of ce" not in text


def test_report_lists_settings(page, run):
    text = page.read_text(encoding="utf-8")
    for name, value in json.loads((run.folder / "config.json").read_text()).items():
        assert f'<bdi>{name}</bdi></th><td data-column="value"><bdi>{value}</bdi>' in text


def median_brightness(path):
    pixels = np.asarray(Image.open(path).convert("L"), dtype=float)
    return float(np.median(pixels))


def test_page_follows_the_preferred_colour_scheme(browser, page, tmp_path):
    for dark in (False, True):
        with browser.opened(page.as_uri(), dark=dark) as opened:
            opened.picture(tmp_path / f"{dark}.png")
    assert median_brightness(tmp_path / "False.png") > 240
    assert median_brightness(tmp_path / "True.png") < 40


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_have_no_horizontal_scrolling(browser, page, comparison, width):
    for path in (page, comparison):
        with browser.opened(path.as_uri(), width=width) as opened:
            assert opened.run("document.documentElement.scrollWidth") <= width


FOCUS = """(() => {
const all = [...document.querySelectorAll("a[href], summary, [tabindex='0']")];
const stops = all.filter(e => e.checkVisibility());
const rings = stops.filter(e => { e.focus(); const s = getComputedStyle(e);
  return document.activeElement === e && s.outlineStyle === "solid" && parseFloat(s.outlineWidth) >= 2; });
return [rings.length, stops.length];
})()"""


def test_focused_elements_have_an_outline(browser, page, comparison):
    for path in (page, comparison):
        with browser.opened(path.as_uri()) as opened:
            ringed, stops = opened.run(FOCUS)
        assert ringed == stops >= 8
