"""The first section of a report, on a wide and a narrow screen, and the section on corrected labels."""

import dataclasses
import re

import pytest
from small_runs import write_run

from noiseproof import labels, report, train
from noiseproof.labels import Decision, DecisionLog
from noiseproof.report.evidence import Evidence
from noiseproof.report.page import learning_tiles, tiles
from noiseproof.report.summary import facts_of
from noiseproof.report.tables import EPOCH_COLUMNS
from noiseproof.testing import example_record

ALL_CELLS_VISIBLE = """
[...document.querySelectorAll('#tables td')].every((cell) => cell.getBoundingClientRect().right <= innerWidth)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("opening") / "run", example_record(known=False))


@pytest.fixture(scope="module")
def page(run):
    return report.write(run)


@pytest.mark.parametrize(("width", "most"), [(1280, 600), (400, 1000)])
def test_summary_and_suspects_come_before_the_figures(browser, page, width, most):
    opened = browser.page(page.as_uri(), width=width, height=900)
    try:
        top = "document.querySelector('{}').getBoundingClientRect().top"
        assert opened.run(top.format("#suspects .cards")) < most
        assert opened.run(top.format("#suspects")) < opened.run(top.format("#figures"))
        assert opened.run(top.format("#summary .tiles")) < opened.run(top.format("#suspects"))
        assert opened.run("document.documentElement.scrollWidth") <= width
        opened.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert opened.run("document.querySelectorAll('#tables td').length") > 50
        assert opened.run(ALL_CELLS_VISIBLE)
    finally:
        opened.close()


def test_tiles_explain_their_numbers():
    facts = facts_of(Evidence(example_record(known=False)))
    facts = dataclasses.replace(facts, final_test=0.9, best_test=0.95, best_epoch=4, noise_rate=0.2)
    accuracy, wrong, suspects = tiles(facts)
    assert (accuracy.value, accuracy.name) == ("90.0%", "test accuracy")
    assert "share of the test samples" in accuracy.note
    assert (wrong.value, wrong.name) == ("20.0%", "of the labels are probably wrong")
    assert "about 80 of 400 labels" in wrong.note
    assert suspects.name == "suspects"
    assert "about 7 of them truly wrong" in tiles(dataclasses.replace(facts, expected_wrong=7.2))[2].note
    assert all(tile.note for tile in [*tiles(facts), *learning_tiles(facts)])


def test_epoch_columns_are_explained(page):
    text = page.read_text()
    for word in ("alpha", "snr"):
        assert re.search(rf"<dt>{word}</dt><dd>[^<]{{20,}}", text)
    for key in ("corrupted", "intact"):
        assert any(key in meaning for _, meaning in EPOCH_COLUMNS.values())


def test_report_counts_decided_labels(tmp_path, monkeypatch):
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", {})
    run = write_run(tmp_path / "run", example_record(known=False), outputs={})
    names = run.record.class_names
    given = int(run.record.label[5])
    made = [
        Decision(5, "relabel", names[(given + 1) % 4]),
        Decision(6, "drop"),
        Decision(7, "keep"),
        Decision(8, "unsure"),
    ]
    DecisionLog(run.folder / "decisions.jsonl").append(made)
    text = report.write(run).read_text()
    assert "Of 3 decided labels, 67% were wrong" in text
    assert 'href="#corrections"' in text


@pytest.mark.slow
def test_report_on_corrected_data_compares_both_runs(tmp_path):
    config = train.Config(epochs=1, noise="symmetric(0.3)")
    run = train.fit(config.replace(out=str(tmp_path / "before")))
    flipped = run.record.flipped.nonzero().flatten().tolist()
    made = [Decision(row, "relabel", int(run.record.clean_label[row])) for row in flipped[1:]]
    done = labels.write_corrected(run, [*made, Decision(flipped[0], "drop")])
    after = train.fit(config.replace(data=done.data, noise=None, out=str(tmp_path / "after")))
    text = report.write(after).read_text()
    assert "Before and after" in text
    assert "0 labels changed and 1 sample dropped" in text
    for value in (run.result["final_test_accuracy"], after.result["final_test_accuracy"]):
        assert f"{100 * value:.1f}%" in text
    assert "1,400" in text
    assert "1,399" in text
