"""The page of a comparison: several runs, or the folder that ``noiseproof compare`` leaves behind."""

import json
import re
import shutil

import pytest
import torch
from small_runs import SETTINGS, metrics_of, write_run

from noiseproof import report
from noiseproof.data import LabelledData
from noiseproof.report.comparison import is_comparison, runs_in
from noiseproof.report.page_figures import RenderedFigure, arrange
from noiseproof.testing import example_record

RECORD = example_record(120, 6)
FINAL_ACCURACIES = {"ce": 0.5, "mae": 0.8}


def write_table(folder, rows):
    """Write table.json as the command does, with folders relative to its working directory."""
    found = [
        {"run": name, "runs": [{"folder": f"somewhere/else/{run}"} for run in runs]} for name, runs in rows
    ]
    (folder / "table.json").write_text(json.dumps({"rows": found}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two losses with two seeds each, mae ends higher; a failed loss and an unrelated run."""
    place = tmp_path_factory.mktemp("folder") / "demo"
    for loss, end in FINAL_ACCURACIES.items():
        for seed in (0, 1):
            settings, metrics = SETTINGS | {"loss": loss, "seed": seed}, metrics_of(RECORD, end)
            write_run(place / f"{loss}{seed}", RECORD, settings=settings, metrics=metrics, outputs={})
    write_run(place / "other", RECORD, outputs={})
    rows = [("mae", ["mae0", "mae1"]), ("ce", ["ce0", "ce1"]), ("gce", ["gce0"])]
    write_table(place, rows)
    return place


@pytest.fixture(scope="module")
def text(folder):
    images = LabelledData(torch.rand(120, 1, 8, 8), RECORD.label)
    path = report.write_comparison(folder, data=images)
    assert path == folder / "report.html"
    return path.read_text(encoding="utf-8")


def test_runs_have_the_order_of_the_table(folder, tmp_path):
    assert is_comparison(folder)
    assert not is_comparison(folder / "ce0")
    assert [run.name for run in runs_in(folder)] == ["mae0", "mae1", "ce0", "ce1"]
    moved = shutil.copytree(folder, tmp_path / "moved")
    shutil.rmtree(moved / "ce1" / "record")
    assert [run.name for run in runs_in(moved)] == ["mae0", "mae1", "ce0"]


def test_folder_without_a_comparison_raises_an_error(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match=r"ce0 is not a comparison: it must contain the table.json"):
        report.write_comparison(folder / "ce0")
    (tmp_path / "table.json").write_text("[]")
    with pytest.raises(ValueError, match=r"cannot read .*table.json.*run the comparison again"):
        report.write_comparison(tmp_path)


def test_seeds_of_one_experiment_are_grouped(text):
    assert "2 experiments compared, 2 seeds each" in text
    verdicts = re.findall(r"<li><strong><bdi>(.*?)</bdi></strong>: (.*?)</li>", text)
    assert [name for name, _ in verdicts] == ["mae", "ce"]
    assert text.count('<figure id="ridge') == 2
    assert "in %, mean ± standard deviation over the seeds" in text


def test_suspects_come_from_the_run_with_the_best_final_accuracy(text):
    assert re.search(r"best final result: <bdi>mae</bdi>, seed 0", text)
    cards = re.findall(r'<img src="data:image/png;base64,[^"]+" alt="Sample (\d+), given as', text)
    frame = report.evidence.Evidence(RECORD).suspects
    issues = frame[frame["is_label_issue"]].sort_values("label_score", kind="stable")
    assert 14 < len(cards) <= 42
    assert [int(card) for card in cards] == issues.index[: len(cards)].tolist()


def test_comparison_of_several_runs_needs_a_path():
    with pytest.raises(ValueError, match="pass path="):
        report.write_comparison([RECORD, RECORD])


def arranged(layout):
    """Arrange figures: w is wide, n narrow, - not drawn; in the result A is alone in its row."""
    found = [
        RenderedFigure(str(k), "", "", None if c == "-" else "x", None, c == "w")
        for k, c in enumerate(layout)
    ]
    return "".join("w" if p.wide else "A" if p.alone else "n" for p in arrange(found))


def test_arrange_fills_every_row():
    assert arranged("") == ""
    assert arranged("wnnw") == "wnnw"
    assert arranged("wnnnw") == "wnnAw"
    assert arranged("n-n") == "nn"
    assert arranged("nnn") == "nnA"
    assert arranged("nwnnn") == "AwnnA"


def test_comparison_ranks_by_final_accuracy(tmp_path):
    runs = []
    for name, values in (("fell", [0.99, 0.5]), ("kept", [0.7, 0.8])):
        lines = [{"epoch": k + 1, "test_accuracy": value} for k, value in enumerate(values)]
        record = example_record(60, 2)
        settings = SETTINGS | {"loss": {"fell": "ce", "kept": "mae"}[name]}
        runs.append(write_run(tmp_path / name, record, metrics=lines, settings=settings, outputs={}))
    text = report.write_comparison(runs, tmp_path / "c.html").read_text(encoding="utf-8")
    assert "mae ends with the highest test accuracy, 80.0%: 30.0 points above ce." in text
    table = text.split("<tbody>")[1]
    assert table.index("mae") < table.index("ce")


def test_comparison_needs_two_runs():
    with pytest.raises(ValueError, match="needs at least two runs with a record, got 1"):
        report.write_comparison([example_record()], "x.html")
