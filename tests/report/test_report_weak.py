"""The report of a run that learned too little shows a warning above the suspects."""

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


def weak_record(suspects=5, known=False):
    """100 samples of 4 classes with low margins: 75 labels are predicted, ``suspects`` margins are lower."""
    record = example_record(100, known=known)
    margin = torch.full_like(record.margin, -1.1)
    margin[:, :suspects] = -3.0
    taken = torch.where(torch.arange(100) < 25, (record.label + 1) % 4, record.label)
    return dataclasses.replace(record, margin=margin, prediction=taken.int().expand(12, 100))


def warning_on(browser, page):
    """The text of the warning, whether it is visible, and whether it comes before the first card."""
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
def test_warning_is_above_the_suspects(browser, tmp_path, suspects):
    run = write_run(tmp_path / "run", weak_record(suspects))
    words, visible, above = warning_on(browser, report.write(run))
    assert words.startswith(WARNING)
    assert "train it longer" in words
    assert (visible, above) == (True, True)


@pytest.mark.parametrize(
    ("suspects", "words"), [(1, "One label is suspected. "), (5, "5 labels are suspected; all are shown. ")]
)
def test_number_of_suspects_is_a_sentence(tmp_path, suspects, words):
    page = report.write(weak_record(suspects), tmp_path / "page.html")
    assert words in page.read_text(encoding="utf-8")


def test_comparison_shows_the_warning(browser, tmp_path):
    runs = [
        write_run(tmp_path / loss, weak_record(), settings=SETTINGS | {"loss": loss})
        for loss in ("ce", "mae")
    ]
    page = report.write_comparison(runs, tmp_path / "both.html")
    assert warning_on(browser, page)[0].startswith(WARNING)


def test_no_warning_for_a_run_that_learned(browser, tmp_path):
    assert warning_on(browser, report.write(write_run(tmp_path / "run"))) is None


@pytest.mark.parametrize(("suspects", "known"), [(5, False), (0, False), (5, True)])
def test_summary_calls_the_evidence_weak(suspects, known):
    evidence = Evidence(weak_record(suspects, known), loss="ce")
    facts = facts_of(evidence)
    assert (facts.weak, facts.suspects) == (True, suspects)
    assert "is not reliable evidence about labels: cross-fit" in summarise(evidence, facts)[-1]
    assert tiles(facts)[-1].note.startswith("weak evidence")
    if not known:
        assert verdict(facts) == "The record is not reliable evidence about labels."
