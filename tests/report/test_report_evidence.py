"""Evidence: the data of a run that figures use."""

import dataclasses

import pytest
import torch
from small_runs import SETTINGS, write_run

import noiseproof.labels
from noiseproof.report import NotAvailableError, plot_memorised
from noiseproof.report.evidence import Evidence
from noiseproof.testing import example_record


def test_doubted_labels_are_the_flipped_ones_if_clean_labels_are_known():
    record = example_record()
    evidence = Evidence(record)
    assert evidence.word == "wrong"
    assert torch.equal(evidence.doubted, record.label != record.clean_label)


def test_doubted_labels_are_the_suspects_without_clean_labels():
    record = example_record(known=False)
    evidence = Evidence(record)
    assert evidence.word == "suspected"
    expected = noiseproof.labels.find(record)["is_label_issue"].tolist()
    assert evidence.doubted.tolist() == expected
    assert 0 < sum(expected) < len(record)


def test_find_is_called_once_for_all_figures(monkeypatch):
    calls, real = [], noiseproof.labels.find
    monkeypatch.setattr(noiseproof.labels, "find", lambda *a, **k: calls.append(1) or real(*a, **k))
    evidence = Evidence(example_record(known=False))
    for _ in range(2):
        plot_memorised([evidence])
    assert len(calls) == 1


def test_emphasis_is_that_of_the_loss_of_the_run(tmp_path):
    evidence = Evidence(write_run(tmp_path / "run", settings=SETTINGS | {"loss": "mae"}))
    p = torch.sigmoid(evidence.record.margin[3].float())
    torch.testing.assert_close(evidence.emphasis(3), 2 * p * (1 - p))


def test_recorded_emphasis_is_preferred():
    record = example_record()
    record = dataclasses.replace(record, extra={"emphasis": torch.full_like(record.margin, 0.25)})
    assert Evidence(record, loss="ce").emphasis(0).unique().tolist() == [0.25]


@pytest.mark.parametrize(
    "other", [{"method": "nal"}, {"loss": "nce"}, {"loss": "no loss at all"}, {"loss": None}]
)
def test_emphasis_is_unavailable_without_a_margin_loss(tmp_path, other):
    evidence = Evidence(write_run(tmp_path / "run", settings=SETTINGS | other))
    assert evidence.loss is None
    with pytest.raises(NotAvailableError, match="emphasis was not recorded"):
        evidence.emphasis(0)


def test_run_without_record_raises_an_error(tmp_path):
    run = write_run(tmp_path / "run")
    for file in (run.folder / "record").iterdir():
        file.unlink()
    evidence = Evidence(run)
    with pytest.raises(NotAvailableError, match="has no record"):
        _ = evidence.record
    assert evidence.class_name(1) == "class 1"


def test_invalid_sources_raise_an_error():
    with pytest.raises(TypeError, match="expected a run, the folder of a run, or a Record, got int"):
        Evidence.of(3)
    with pytest.raises(FileNotFoundError, match="nowhere is not a run folder"):
        Evidence.of("nowhere")
