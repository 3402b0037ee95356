"""The errata and the pages under tables/ agree with the committed results of our runs."""

import csv
import importlib.util
from pathlib import Path

import pytest

from noiseproof.losses import get as get_loss
from noiseproof.papers import get
from noiseproof.papers.plan import Changes, plan
from noiseproof.papers.results import read_results
from noiseproof.papers.tally import compared, read_tried, to_markdown

HOME = Path(__file__).parents[2]
TABLES = HOME / "tables"
FILES = sorted((TABLES / "results").rglob("runs.csv"))


def read_csv(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


RUNS = [line for path in FILES for line in read_csv(path)]
BF16 = Changes(precision="bf16")
ERRATA = (HOME / "docs" / "errata.md").read_text(encoding="utf-8")


def erratum(number):
    """The text of an erratum, in one line."""
    return " ".join(ERRATA.split(f"### {number}. ")[1].split("\n##")[0].split())


def runs(loss, *, model="cnn8", noise="symmetric(0.4)", data="cifar10"):
    """Finished runs of a setting, by seed."""
    found = [
        run
        for run in RUNS
        if (run["loss"], run["model"], run["noise"], run["data"]) == (loss, model, noise, data)
    ]
    return sorted(found, key=lambda run: int(run["seed"]))


def final(run):
    return 100 * float(run["final"])


def count_unlearned_classes(run):
    return [float(value) for value in run["test_class_accuracy"].split()].count(0)


def printed(row, column):
    """Accuracy under noise (clean + diff) and snr of Curriculum Table 5."""
    table = get("curriculum.table5")
    clean, diff = table.cell(row, "clean · test %").printed, table.cell(row, f"{column} · diff").printed
    return clean + diff, table.cell(row, f"{column} · snr").printed


CLIPPED = set(plan(get("curriculum.table5").select(["SCE"], ["symmetric 0.4 · snr"]), BF16))
SCE = ("sce(q=0.95)", "unit_max(sce(q=0.95))")


def test_committed_runs_are_unique():
    keys = [run["run"] for run in RUNS]
    assert len(keys) == len(set(keys))
    assert {len(runs("unit_max(ce)")), len(runs("unit_max(sce(q=0.95))"))} == {5}


@pytest.mark.slow
def test_committed_cells_page_matches_the_results():
    found = compared(*read_results([TABLES / "results"]))
    page = to_markdown(found, read_tried(TABLES / "tried.csv"))
    assert (TABLES / "cells.md").read_text(encoding="utf-8") == page


def test_every_missed_cell_lists_what_was_tried():
    lines = (TABLES / "cells.md").read_text(encoding="utf-8").splitlines()
    misses = [line for line in lines if "| misses" in line]
    assert misses
    assert [line for line in misses if line.split(" | ")[-1].strip(" |") == ""] == []


def test_e28_imae_without_saturation_has_low_accuracy():
    words = erratum("E28")
    for noise, T, printed_final in (("symmetric(0.4)", 8.0, 84.0), ("", 0.5, 91.4)):
        never, late, early = (
            [final(run) for run in runs(f'imae(T={T}, normalize="none"{end})', model="resnet20", noise=noise)]
            for end in (", saturation=None", "", ", saturation=6.24")
        )
        assert len(never) == len(late) == len(early) == 3
        assert max(never) < printed_final - 30
        assert max(abs(number - printed_final) for number in late + early) < 3
        for ends in zip(never, late, early, strict=True):
            assert f"| {' | '.join(f'{end:.1f}' for end in ends)} |" in words


def test_e32_normalized_gr_reproduces_table_3():
    words, table = erratum("E32"), get("gr.table3")
    for row, loss in (
        ("CCE", "ce"),
        ("GR · λ=0.5, β=12", 'gr(beta=12.0, lam=0.5, normalize="batch")'),
        ("GR · λ=1, β=16", 'gr(beta=16.0, lam=1.0, normalize="batch")'),
    ):
        (run,) = runs(loss, model="resnet56")
        assert run["iterations"] == "100000"
        assert final(run) == pytest.approx(table.cell(row, "symmetric 0.4 · final %").printed, abs=2)
        assert f"{final(run):.1f}" in words


def test_e29_five_seeds_of_sce_exclude_the_unit_maximum():
    accuracy, snr = printed("SCE", "symmetric 0.4")
    raw, unit = map(runs, SCE)
    decided = [run for run in raw if run["run"] in CLIPPED]
    assert len(decided) == len(unit) == 5
    assert max(map(final, decided)) == pytest.approx(accuracy, abs=0.5)
    assert max(map(final, unit)) < accuracy - 9
    assert all(float(run["snr"]) == pytest.approx(snr, abs=0.02) for run in decided)
    words = erratum("E29")
    assert f"end at {min(map(final, decided)):.1f} to {max(map(final, decided)):.1f}" in words


@pytest.mark.parametrize(("row", "loss"), [("SCE", "sce(q=0.95)"), ("GCE", "gce(q=0.4)")])
def test_e29_sce_and_gce_without_unit_maximum_match_the_paper(row, loss):
    accuracy, snr = printed(row, "symmetric 0.4")
    raw = next(run for run in runs(loss) if run["run"] not in CLIPPED)
    unit = runs(f"unit_max({loss})")[0]
    assert final(raw) == pytest.approx(accuracy, abs=1)
    assert float(raw["snr"]) == pytest.approx(snr, abs=0.02)
    assert accuracy - final(unit) > 4
    assert snr - float(unit["snr"]) > 0.06
    cells = [f"{final(run):.1f}, {float(run['snr']):.3f}" for run in (unit, raw)]
    assert f"| {cells[0]} | {cells[1]} | {accuracy:.2f}, {snr:.2f} |" in erratum("E29")


@pytest.mark.parametrize(("row", "raw", "unit"), [("AUL", "aul(a=2.0, q=2.0)", 0), ("MAE", "0.5*mae", 1)])
def test_e29_aul_and_mae_match_with_and_without_unit_maximum(row, raw, unit):
    """The first of five runs of MAE with the unit maximum left a class unlearned."""
    accuracy, _ = printed(row, "symmetric 0.4")
    named = raw.removeprefix("0.5*")
    assert final(runs(raw)[0]) == pytest.approx(accuracy, abs=1)
    assert final(runs(f"unit_max({named})")[unit]) == pytest.approx(accuracy, abs=1.3)


def test_e29_agce_leaves_classes_unlearned_with_and_without_unit_maximum():
    loss = "agce(a=3.0, q=4.0)"
    assert [count_unlearned_classes(run) for run in runs(f"unit_max({loss})")] == [4, 2, 2, 3, 4]
    assert count_unlearned_classes(runs(loss)[0]) == 7


def test_e33_printed_update_scales_are_those_of_the_first_epoch():
    table, page = get("curriculum.table2"), (TABLES / "curriculum.md").read_text(encoding="utf-8")
    first, last = {}, {}
    curves = read_csv(TABLES / "results/sl_mnist/epochs.csv")
    alpha = {line["run"]: float(line["alpha"]) for line in curves if line["epoch"] == "1" and line["alpha"]}
    for row in ("CE", "SCE", "GCE", "AUL", "AGCE", "MAE", "AUL†", "AGCE†"):
        cell = table.cell(f"CIFAR-10 · 8-layer CNN · {row}", "clean · alpha x 1e4")
        [run] = (one for one in RUNS if one["run"] in plan(table.select([cell.row]), BF16))
        first[row], last[row] = (1e4 * a / 256 for a in (alpha[run["run"]], float(run["alpha"])))
        assert all(f"{number:.2f}" in page for number in (first[row], last[row]))
        first[row], last[row] = first[row] / cell.printed, last[row] / cell.printed
    assert all(first[row] == pytest.approx(1, abs=0.035) for row in ("CE", "SCE", "GCE", "AGCE", "MAE"))
    assert first["AUL"] > 0.93
    assert min(first.values()) > 0.69
    assert max(last.values()) < 0.47


def test_gr_and_sl_pages_contain_final_accuracies():
    """The pages of GR and SL contain the final accuracies of the committed runs."""
    for page, folder in (("gr.md", "gr_table3"), ("sl.md", "sl_table1")):
        text = (TABLES / page).read_text(encoding="utf-8")
        lines = (TABLES / "results" / folder / "runs.csv").read_text(encoding="utf-8").splitlines()
        for run in csv.DictReader(lines):
            if page == "sl.md" or run["model"] == "resnet56":
                assert f"{final(run):.{1 if page == 'gr.md' else 2}f}" in text, run["loss"]


def test_gr_defaults_page_matches_its_results():
    folder = TABLES / "gr_defaults"
    spec = importlib.util.spec_from_file_location("gr_defaults", folder / "run.py")
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    assert (folder / "README.md").read_text(encoding="utf-8") == study.page()
    batch, as_it_is = "batch mean, ends at 17.33", "as it is, ends at 17.33"
    deep = study.read("cifar10")
    problem = ("resnet56", "0.1", "(12, 0.5)")
    assert deep[batch][problem] > deep[as_it_is][problem] + 50
    assert get_loss("gr").normalize == get_loss("imae").normalize == "batch"
