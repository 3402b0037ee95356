"""``noiseproof report``."""

import json
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from noiseproof.cli.report import report as verb
from noiseproof.testing import example_record

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from small_runs import SETTINGS, write_run

app = typer.Typer()
app.command()(verb)


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    monkeypatch.setattr("noiseproof.report.page.RUN_FIGURES", {})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli report")
    record = example_record(60, 3)
    specs = {"one": "ce", "two": "mae"}
    return [
        write_run(folder / name, record, outputs={}, settings=SETTINGS | {"loss": specs[name]})
        for name in specs
    ]


def test_report_of_one_run(runs):
    done = CliRunner().invoke(app, [str(runs[0].folder)])
    path = runs[0].folder / "report.html"
    assert done.exit_code == 0, done.output
    assert done.stdout.replace("\n", "") == f"wrote {path}"
    assert "<h1><bdi>one</bdi></h1>" in path.read_text(encoding="utf-8")


def test_report_of_several_runs(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, [str(run.folder) for run in runs]).exit_code == 0
    assert "2 runs compared" in (tmp_path / "comparison.html").read_text(encoding="utf-8")


def test_report_of_a_comparison_folder(runs):
    folder = runs[0].folder.parent
    rows = [{"run": run.name, "runs": [{"folder": str(run.folder)}]} for run in runs]
    (folder / "table.json").write_text(json.dumps({"rows": rows}))
    done = CliRunner().invoke(app, [str(folder)])
    assert done.exit_code == 0, done.output
    assert "2 runs compared" in (folder / "report.html").read_text(encoding="utf-8")


def test_report_is_written_to_out(runs, tmp_path):
    target = tmp_path / "new folder" / "r.html"
    assert CliRunner().invoke(app, [str(runs[1].folder), "--out", str(target)]).exit_code == 0
    assert target.is_file()
    assert not (runs[1].folder / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere is not a run folder"),
        (["x", "--out", "r.pdf"], "cannot write r.pdf: use .html"),
    ],
)
def test_invalid_arguments_are_refused(words, message):
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, (ValueError, OSError))
    assert message in str(done.exception)
