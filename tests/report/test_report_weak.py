"""A run that learned too little to judge labels: the page warns where somebody decides."""

import dataclasses

import pytest
import torch
from small_runs import SETTINGS, write_run

from noiseproof import report
from noiseproof.report.evidence import Evidence
from noiseproof.report.page import tiles
from noiseproof.report.summary import facts_of, summarise, verdict
from noiseproof.testing import example_record

WARNING = "Weak evidence. The record of this network is not reliable evidence"


def unsure(suspects=5, known=False):
    """100 samples of 4 classes, never sure: three of four labels are given back, a few are far below."""
    record = example_record(100, known=known)
    margin = torch.full_like(record.margin, -1.1)
    margin[:, :suspects] = -3.0
    taken = torch.where(torch.arange(100) < 25, (record.label + 1) % 4, record.label)
    return dataclasses.replace(record, margin=margin, prediction=taken.int().expand(12, 100))


def seen(browser, page):
    """The text of the warning, whether it is in sight, and whether it comes before the first card."""
    ask = """(() => {
    const box = document.querySelector("#suspects .warning"), card = document.querySelector(".cards li");
    const first = !card || box && box.compareDocumentPosition(card) & 4;
    return box ? [box.innerText, box.checkVisibility(), !!first] : null;
    })()"""
    with browser.opened(page.as_uri()) as opened:
        return opened.run(ask)


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", {})


@pytest.mark.parametrize("suspects", [5, 0])
def test_the_warning_stands_above_the_suspects(browser, tmp_path, suspects):
    run = write_run(tmp_path / "run", unsure(suspects))
    words, visible, above = seen(browser, report.write(run))
    assert words.startswith(WARNING)
    assert "train it longer" in words
    assert (visible, above) == (True, True)


@pytest.mark.parametrize(
    ("suspects", "words"), [(1, "One label is suspected. "), (5, "5 labels are suspected; all are shown. ")]
)
def test_the_number_of_suspects_is_told_in_good_english(tmp_path, suspects, words):
    page = report.write(unsure(suspects), tmp_path / "page.html")
    assert words in page.read_text(encoding="utf-8")


def test_a_comparison_warns_of_its_finder_too(browser, tmp_path):
    runs = [
        write_run(tmp_path / loss, unsure(), settings=SETTINGS | {"loss": loss}) for loss in ("ce", "mae")
    ]
    page = report.write_comparison(runs, tmp_path / "both.html")
    assert seen(browser, page)[0].startswith(WARNING)


def test_a_run_that_learned_is_not_warned_of(browser, tmp_path):
    assert seen(browser, report.write(write_run(tmp_path / "run"))) is None


@pytest.mark.parametrize(("suspects", "known"), [(5, False), (0, False), (5, True)])
def test_the_summary_does_not_boast(suspects, known):
    evidence = Evidence(unsure(suspects, known), loss="ce")
    facts = facts_of(evidence)
    assert (facts.weak, facts.suspects) == (True, suspects)
    assert "is not reliable evidence about labels: cross-fit" in summarise(evidence, facts)[-1]
    assert tiles(facts)[-1].note.startswith("weak evidence")
    if not known:
        assert verdict(facts) == "Its record is not reliable evidence about labels."
