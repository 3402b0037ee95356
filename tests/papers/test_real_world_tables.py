"""Tables on photos that are available on request only, with small folders in the official layouts."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from real_world_trees import TREES, mars_info
from stopping import StopAt, contents

from noiseproof.cli.papers_text import plan_to_markdown
from noiseproof.dynamics import RunFolder
from noiseproof.papers import compare, get, run, tables
from noiseproof.papers.claims import Claim, Point, judge
from noiseproof.papers.plan import Changes, plan
from noiseproof.papers.results import read_folder
from noiseproof.papers.tally import compared, tally, to_markdown
from noiseproof.train import Interrupted, fit

DRY = Changes(epochs=1, samples=14)
ROWS = {
    "gr.table6": "GR",
    "imae.table5": "IMAE",
    "sl.table3": "SL",
    "nal.table2": "ResNet-50 (from scratch) · NAL",
    "curriculum.table4": "WebVision (k=50) · MAE scale",
}


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A data folder with Clothing1M and WebVision."""
    TREES["clothing1m"](tmp_path / "clothing1m")
    TREES["webvision"](tmp_path / "webvision")
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    return tmp_path


def small_network(runs):
    return replace(runs, settings={**runs.settings, "model": "mlp(hidden=4)", "weights": None})


def small(name):
    """One row of a table, with a small network without weights."""
    return get(name).select([ROWS[name]], seeds=1).with_runs(small_network)


@pytest.mark.parametrize("row", [row for row in get("sl.table3").rows if row != "SL"])
def test_every_row_of_sl_table3_runs(photos, row):
    table = get("sl.table3").select([row], seeds=1).with_runs(small_network)
    [entry] = run(table, out=photos / "out", jobs=1, changes=DRY).entries
    assert entry.finished == 1


def test_resumed_forward_on_clothing1m_has_the_same_matrix(photos):
    """Also if the lists have changed in between."""
    table = get("sl.table3").select(["Forward"], seeds=1).with_runs(small_network)
    [planned] = plan(table, DRY).values()
    assert planned.config.method == "forward(transition='clothing1m')"
    config = planned.config.replace(batch_size=4, device="cpu")
    unbroken = fit(config.replace(out=str(photos / "whole")))
    with pytest.raises(Interrupted):
        fit(config.replace(out=str(photos / "broken")), watcher=StopAt(2))
    lists = photos / "clothing1m/noisy_label_kv.txt"
    other = re.sub(
        r"(images/1/.*) (\d+)", lambda line: f"{line[1]} {(int(line[2]) + 3) % 14}", lists.read_text()
    )
    lists.write_text(other)
    resumed = fit(config.replace(out=str(photos / "broken")))
    assert contents(resumed.folder) == contents(unbroken.folder)


@pytest.mark.parametrize("name", [name for name in ROWS if name not in ("gr.table6", "nal.table2")])
def test_run_of_one_epoch_on_a_few_samples(photos, name):
    [entry] = [one for one in run(small(name), out=photos / "out", jobs=1, changes=DRY).entries if one.runs]
    assert entry.finished == 1
    assert 0 <= entry.ours <= 100
    [folder] = (photos / "out/runs").iterdir()
    facts = RunFolder(folder).manifest["data"]
    assert {facts[part]["samples"] for part in ("train", "test")} == {14}
    assert facts["validation"] is None


def test_shortened_run_counts_for_no_cell_and_no_claim(photos, monkeypatch):
    table = small("gr.table6")
    found = run(table, out=photos / "out", jobs=1, changes=DRY)
    assert found.changes == "epochs=1, samples=14"
    [entry] = found.entries
    agreeing = replace(found, entries=(replace(entry, cell=replace(entry.cell, printed=entry.ours)),))
    whole = replace(agreeing, short={})
    assert [(one.run, one.short, one.agree) for one in map(tally, (agreeing, whole))] == [
        (1, 1, 0),
        (1, 0, 1),
    ]
    monkeypatch.setitem(tables.PRINTED, "gr.table6", table)
    page = to_markdown([one for one in compared(*read_folder(photos / "out")) if one.table is table])
    assert "1 of 3, cut to epochs=1, samples=14" in page
    monkeypatch.setitem(tables.TABLES, "gr.table6", table)
    points = {"ours": Point("gr.table6", "GR", "test %", "final")}
    claim = Claim(1, "all is well", "here", points, {"it is": lambda numbers: numbers["ours"] >= 0})
    assert judge(claim, read_folder(photos / "out")[0]).words == "not run"


@pytest.mark.parametrize("name", ["gr.table7", "imae.table9"])
def test_retrieval_metrics_on_mars(photos, name):
    TREES["mars"](photos / "mars")
    if name == "imae.table9":
        mars_info(photos / "mars")
    table = get(name).select(["*CCE"], seeds=1).with_runs(small_network)
    found = run(table, out=photos / "out", jobs=1, changes=Changes(epochs=1, samples=30))
    [folder] = (path for path in (photos / "out/runs").iterdir() if path.is_dir())
    assert RunFolder(folder).manifest["data"]["test"] is None
    written = json.loads((folder / "retrieval.json").read_text())
    for entry, metric in zip(found.entries, ("mAP", "CMC-1"), strict=True):
        assert entry.ours == 100 * written[metric]
        assert 0 < entry.ours <= 100
    assert written["official_queries"] == (name == "imae.table9")
    assert compare(table, out=photos / "out").entries[0].ours == found.entries[0].ours


def test_plans_have_the_settings_of_the_papers():
    [gr] = {key: one.config for key, one in plan(get("gr.table6").select(["GR"], seeds=1)).items()}.values()
    assert gr.loss == 'gr(beta=16.0, lam=1.0, normalize="batch")'
    assert (gr.epochs, gr.batch_size, gr.lr, gr.weight_decay) == (10, 64, 1e-3, 1e-3)
    [nal] = [one.config for one in plan(get("nal.table2").select(["* · NAL"], seeds=1)).values()]
    assert (nal.balanced_batches, nal.epochs, nal.weights) == (2000, 250, None)
    assert (nal.validation_data, nal.method) == (
        "clothing1m",
        "nal(lam=50.0, alpha=0.9, start=60, period=10)",
    )
    names = ("DivideMix", "ELR+")
    two = [
        one.config
        for name in names
        for one in plan(get("nal.table2").select([f"ResNet-50 (from scratch) · {name}"], seeds=1)).values()
    ]
    assert [one.method for one in two] == ["divide_mix(warmup=1, lam=0.0, penalty=True)", "elr_plus"]
    assert [(one.mixup, one.weight_average, one.batch_size) for one in two] == [
        (0.5, None, 32),
        (None, 0.999, 64),
    ]
    for one in plan(get("curriculum.table4")).values():
        classes = one.config.data.partition("=")[2].rstrip(")")
        assert one.config.test == f"webvision(classes={classes}, imagenet=True)"
        assert "num_classes" not in one.config.loss or f"num_classes={classes})" in one.config.loss


def test_nal_table2_uses_accuracy_at_the_best_validation_epoch(photos):
    found = run(small("nal.table2"), out=photos / "out", jobs=1, changes=Changes(epochs=2, samples=14))
    [folder] = (photos / "out/runs").iterdir()
    assert RunFolder(folder).manifest["data"]["validation"]["samples"] == 14
    chosen = RunFolder(folder).result["selected"]
    assert chosen["test_accuracy"] * 100 == next(one.ours for one in found.entries if one.runs)
    accuracies = [line["validation_accuracy"] for line in RunFolder(folder).metrics]
    assert chosen["validation_accuracy"] == max(accuracies)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("gr.table4", "Mentor DD"),
        ("gr.table6", "Masking"),
        ("gr.table6", "Bilevel Optimisation"),
        *(("gr.table7", row) for row in ("ResNet-50 · DRSA", "ResNet-50 · CAE", "GoogLeNet V2 · OSM+CAA")),
        ("imae.table5", "Masking · from Masking"),
    ],
)
def test_unimplemented_systems_are_listed_with_the_reason(name, row):
    [why] = {cell.filling.why for cell in get(name).cells if cell.row == row}
    assert why
    page = (Path(__file__).parents[2] / "tables/cells.md").read_text(encoding="utf-8")
    section = page.split(f"## {name}: ")[1].split("\n## ")[0]
    for words in (plan_to_markdown(get(name)), section):
        [line] = [line for line in words.splitlines() if line.startswith(f"- {row}: quoted from")]
        assert line.endswith(f"; not in the library: {why}")
