import html
import json
import shlex

import pandas
import pytest

from noiseproof import labels, losses
from noiseproof.cli.demo import LOSSES, SETTINGS, write_suspects
from noiseproof.dynamics import RunFolder


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "the demo"


def test_demo_compares_seven_losses_and_lists_its_files(shell, demo_folder):
    code, out, err = shell("demo", "--seeds", 1, "--epochs", 1, "--jobs", 1, "--out", demo_folder, "--quiet")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].strip() == "Digits, 40% of the training labels wrong, 1 seed"
    shown = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
    assert shown == list(LOSSES)
    table = json.loads((demo_folder / "table.json").read_text())
    assert [row["run"] for row in table["rows"]] == list(LOSSES)
    assert (table["settings"]["noise"], table["settings"]["data"]) == ("symmetric(0.4)", "digits")
    assert str(demo_folder) in out
    [find] = [line for line in out.splitlines() if line.strip().startswith("noiseproof labels find")]
    assert RunFolder(shlex.split(find)[3]).finished


def test_demo_writes_a_report_and_the_suspects(demo_folder):
    page = (demo_folder / "report.html").read_text()
    assert all(html.escape(spec) in page.replace("&#34;", "&quot;") for spec in LOSSES)
    suspects = pandas.read_csv(demo_folder / "suspects.csv")
    assert {"index", "label_score", "given_label", "predicted_label"} <= set(suspects.columns)
    assert suspects["index"].is_unique


def test_weak_evidence_of_one_epoch_is_reported(demo_folder):
    [run] = demo_folder.glob("*-unit-max-mae-*")
    assert labels.find(run).attrs["weak"]
    first, second, *_ = write_suspects(run, demo_folder)
    assert first.endswith(" labels are suspected")
    assert second.startswith("Weak evidence. The record of this network ")


def test_repeated_demo_trains_nothing(shell, demo_folder):
    code, out, err = shell("demo", "--seeds", 1, "--epochs", 1, "--jobs", 1, "--out", demo_folder)
    assert code == 0
    assert err == "7 of 7 runs are finished already\n"
    assert "unit_max(mae)" in out
    words = ("--seeds", 1, "--epochs", 1, "--jobs", 1, "--out", demo_folder, "--json")
    code, out, _ = shell("demo", *words)
    assert (code, [row["run"] for row in json.loads(out)["rows"]]) == (0, list(LOSSES))


def test_demo_noise_affects_training_labels_only(demo_folder):
    for folder in demo_folder.glob("*-ce-*"):
        run = RunFolder(folder)
        record = run.record
        share = float((record.label != record.clean_label).float().mean())
        assert share == pytest.approx(0.4, abs=0.04)
        assert run.manifest["data"]["test"]["samples"] == 397


@pytest.mark.parametrize("words", [["--seeds", "0"], ["--epochs", "0"], ["--seeds", "x"], ["--jobs", "0"]])
def test_invalid_sizes_are_refused(shell, words):
    code, out, err = shell("demo", *words)
    assert (code, out) == (2, "")
    assert words[0] in err


def test_demo_losses():
    wanted = ["ce", "sl", "gce", "imae", "gr", "unit_max(mae)", "unit_max(scale(mae"]
    assert [spec.startswith(name) for spec, name in zip(LOSSES, wanted, strict=True)] == [True] * 7
    assert [str(losses.get(spec)) for spec in LOSSES] == [str(losses.get(str(losses.get(s)))) for s in LOSSES]
    assert "validation" not in SETTINGS
