"""The pages say of our runs what the files of the runs say."""

import csv
import re
from pathlib import Path

import pytest

from noiseproof.dynamics.accuracy import hybrid_accuracy
from noiseproof.papers import get
from noiseproof.papers.plan import plan
from noiseproof.papers.plan_words import to_markdown

HOME = Path(__file__).parents[2]
EVIDENCE = HOME / "tables" / "first_evidence"
PAGE = (EVIDENCE / "README.md").read_text(encoding="utf-8")
ERRATA = (HOME / "docs" / "errata.md").read_text(encoding="utf-8")
FILES = [EVIDENCE / "results" / name / "runs.csv" for name in ("a", "791f61f")]
LINE = re.compile(r"^\| ([^|]+) \| `(.+)` \| (.+) \|$", re.MULTILINE)
SUBSETS = ("best", "final", "noisy subset", "clean subset", "hybrid")
LABELS = ("clean", "symmetric 0.4", "human 0.4")
NEVER, LATE, EARLY = (f"imae(T=8.0{end})" for end in (", saturation=None", "", ", saturation=6.24"))


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def labels(run):
    """Its column: "clean", "symmetric 0.4", "human 0.4"."""
    human = run["data"].startswith("cifar_n")
    return "human 0.4" if human else run["noise"].replace("(", " ").rstrip(")") or "clean"


FINISHED = [run for file in FILES for run in read(file) if run["state"] == "finished"]
RUNS = {(labels(run), run["model"], run["loss"]): run for run in FINISHED}


def runs_with(model, column=None):
    return {key for key in RUNS if key[1] == model and column in (None, key[0])}


def row_of(run):
    """Of Curriculum Table 5, whatever the reading."""
    return run["cells"].split(" / ")[1].split(" · ")[0]


def percent(run, name):
    return 100 * float(run[name])


def ours(loss, column="symmetric 0.4"):
    """Accuracy of the last epoch and snr in Curriculum Table 5."""
    run = RUNS[column, "cnn8", loss]
    return percent(run, "final_test_accuracy"), float(run["snr"] or "nan")


def printed(row, column="symmetric 0.4"):
    """The same as printed; the accuracy under noise is clean + diff, clean labels have no snr."""
    cell = get("curriculum.table5").cell
    clean = cell(row, "clean · test %").printed
    if column == "clean":
        return clean, float("nan")
    return clean + cell(row, f"{column} · diff").printed, cell(row, f"{column} · snr").printed


def subsets(run):
    """Best, final, noisy subset, clean subset and hybrid accuracy of a run on CIFAR-10, in per cent."""
    names = ("best_test_accuracy", "final_test_accuracy", "train_noisy_subset", "train_clean_subset")
    hybrid = hybrid_accuracy(float(run["final_test_accuracy"]), 10_000, float(run["train_intact"]), 50_000)
    return [*(percent(run, name) for name in names), 100 * hybrid]


def printed_subsets(row, column):
    return [get("imae.table6").cell(f"ResNet-20 · {row}", f"{column} · {name} %").printed for name in SUBSETS]


def classes_at_zero(run):
    return [float(value) for value in run["test_class_accuracy"].split()].count(0)


def erratum(number):
    """Its words, in one line."""
    return " ".join(ERRATA.split(f"### {number}. ")[1].split("\n##")[0].split())


def test_no_finished_run_is_left_out():
    known = {run["run"] for run in FINISHED}
    everything = [run for file in EVIDENCE.glob("results/*/runs.csv") for run in read(file)]
    assert {run["run"] for run in everything if run["state"] == "finished"} == known
    assert len(RUNS) == len(FINISHED) == len(known)
    assert f"Left are {165 - len(known)} runs" in PAGE
    assert {run["seed"] for run in FINISHED} == {"0"}


def test_e28_imae_ends_near_the_printed_number_only_with_a_saturation():
    ends = [
        ("symmetric 0.4", NEVER),
        ("symmetric 0.4", LATE),
        ("symmetric 0.4", EARLY),
        ("symmetric 0.8", NEVER),
    ]
    never, late, early, harder = (subsets(RUNS[column, "resnet20", loss])[1] for column, loss in ends)
    wanted, at_80 = (printed_subsets("IMAE", f"symmetric {rate}")[1] for rate in (0.4, 0.8))
    assert wanted - never > 30
    assert late == pytest.approx(wanted, abs=3)
    assert early == pytest.approx(wanted, abs=0.5)
    words = erratum("E28")
    assert f"ends at {never:.1f} without a saturation, at {late:.1f} with one at 17.33" in words
    assert f"and at {early:.1f} with one at 6.24; printed is {wanted:.1f}." in words
    assert f"At 80% it ends at {harder:.1f} without, printed is {at_80:.1f}," in words


@pytest.mark.parametrize(("row", "loss"), [("SCE", "sce(q=0.95)"), ("GCE", "gce(q=0.4)")])
def test_e29_sce_and_gce_meet_the_printed_numbers_without_the_unit_maximum(row, loss):
    accuracy, snr = printed(row)
    without, its_snr = ours(loss)
    assert without == pytest.approx(accuracy, abs=1)
    assert its_snr == pytest.approx(snr, abs=0.02)
    unit, unit_snr = ours(f"unit_max({loss})")
    assert accuracy - unit > 4
    assert snr - unit_snr > 0.06
    words = erratum("E29").replace("an snr of ", "")
    assert f"at {unit:.1f} with {unit_snr:.3f}" in words
    assert f"at {without:.1f} with {its_snr:.3f}" in words
    assert f"{accuracy:.2f} with {snr}" in words


def test_e29_aul_agrees_either_way_and_agce_neither_way():
    accuracy, snr = printed("AUL")
    words = erratum("E29")
    for loss in ("unit_max(aul(a=2.0, q=2.0))", "aul(a=2.0, q=2.0)"):
        last, its_snr = ours(loss)
        assert last == pytest.approx(accuracy, abs=0.5)
        assert its_snr == pytest.approx(snr, abs=0.03)
        assert f"at {last:.1f} with {its_snr:.3f}" in words
    assert f"are {accuracy:.2f} with {snr}" in words
    accuracy, snr = printed("AGCE")
    for loss, lost in (("unit_max(agce(a=3.0, q=4.0))", "four"), ("agce(a=3.0, q=4.0)", "seven")):
        last, its_snr = ours(loss)
        assert accuracy - last > 9
        assert snr - its_snr > 0.4
        assert f"at {last:.1f} with {its_snr:.3f} and {lost} classes unlearned" in words
        assert classes_at_zero(RUNS["symmetric 0.4", "cnn8", loss]) == {"four": 4, "seven": 7}[lost]
    assert f"are {accuracy:.2f} with {snr}" in words


def lines(heading):
    """Cells of the tables under a heading of the page: row, loss, numbers."""
    part = PAGE.split(f"### {heading}\n")[1].split("\n#")[0]
    return [(row, loss, numbers.split(" | ")) for row, loss, numbers in LINE.findall(part)]


def in_words(run, *middle):
    last, best = (f"{percent(run, name):.2f}" for name in ("final_test_accuracy", "best_test_accuracy"))
    return [last, best, *middle, str(classes_at_zero(run))]


@pytest.mark.parametrize("column", LABELS)
def test_numbers_of_curriculum_table5_are_those_of_the_runs(column):
    found = lines("Clean labels" if column == "clean" else column.capitalize())
    assert {(column, "cnn8", loss) for _, loss, _ in found} == runs_with("cnn8", column)
    for row, loss, (accuracy, *numbers) in found:
        run, (wanted, snr) = RUNS[column, "cnn8", loss], printed(row, column)
        assert row_of(run) == row
        assert accuracy == f"{wanted:.2f}"
        snrs = [] if column == "clean" else [f"{snr:.2f}", f"{float(run['snr']):.3f}"]
        assert numbers == in_words(run, *snrs)


def test_numbers_of_imae_table6_are_those_of_the_runs():
    ends = {"never": NEVER, "at 17.33": LATE, "at 6.24": EARLY}
    rows = [(row, "symmetric 0.4", loss, numbers) for row, loss, numbers in lines("CCE, MAE and IMAE")]
    assert [loss for _, _, loss, _ in rows] == ["ce", "mae", LATE]
    for where, loss, numbers in lines("Where the emphasis ends"):
        column, end = where.split(" · ")
        assert ends[end] == loss
        rows.append(("IMAE", column, loss, numbers))
    assert {(column, "resnet20", loss) for _, column, loss, _ in rows} == runs_with("resnet20")
    for row, column, loss, numbers in rows:
        run = RUNS[column, "resnet20", loss]
        pairs = zip(printed_subsets(row, column), subsets(run), strict=True)
        assert numbers == [*(f"{wanted:.1f} / {got:.2f}" for wanted, got in pairs), str(classes_at_zero(run))]


def test_numbers_of_digits_are_those_of_the_comparison():
    part = PAGE.split("## Before: digits\n")[1].split("\n#")[0]
    found = read(EVIDENCE / "results" / "readings_digits.csv")
    told = [f"{percent(line, 'final_mean'):.1f} ± {percent(line, 'final_std'):.1f}" for line in found]
    assert sorted(told) == sorted(re.findall(r"[\d.]+ ± [\d.]+", part))


def off(row, column, loss, least=(1, 0.05)):
    """By how much a run of Curriculum Table 5 misses what is printed, in the words of the page."""
    gaps = [got - wanted for got, wanted in zip(ours(loss, column), printed(row, column), strict=True)]
    words = (f"accuracy {gaps[0]:+.2f}", f"snr {gaps[1]:+.3f}")
    return ", ".join(word for word, gap, limit in zip(words, gaps, least, strict=True) if abs(gap) > limit)


def subsets_off(row, column, loss):
    """The same for IMAE Table 6."""
    numbers = zip(SUBSETS, subsets(RUNS[column, "resnet20", loss]), printed_subsets(row, column), strict=True)
    return ", ".join(f"{name} {got - wanted:+.2f}" for name, got, wanted in numbers if abs(got - wanted) > 1)


def misses():
    """Table, labels and row of a number that is not met: by how much, and what was tried."""
    found = re.findall(r"^\| (\w+ Table \d) \| (.+?) \| (.+?) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
    return {tuple(where): (words, tried) for *where, words, tried in found}


def test_everything_that_is_not_met_is_named_with_its_lost_classes():
    table, wanted = get("curriculum.table5"), {}
    for row in table.rows:
        loss = table.cell(row, "clean · test %").filling.settings["loss"]
        for column in LABELS:
            key = ("Curriculum Table 5", column, row)
            wanted[key] = off(row, column, loss), RUNS[column, "cnn8", loss]
    for row, column, loss, name in (
        ("CCE", "symmetric 0.4", "ce", "CCE"),
        ("MAE", "symmetric 0.4", "mae", "MAE"),
        ("IMAE", "symmetric 0.4", LATE, "IMAE"),
        ("IMAE", "symmetric 0.8", NEVER, "IMAE, no end"),
    ):
        key = ("IMAE Table 6", column, name)
        wanted[key] = subsets_off(row, column, loss), RUNS[column, "resnet20", loss]
    told = misses()
    assert set(told) == {key for key, (words, _) in wanted.items() if words}
    for key, (words, tried) in told.items():
        assert words == wanted[key][0]
        lost = classes_at_zero(wanted[key][1])
        assert bool(lost) == bool(re.search(rf"\b{lost} (and \d )?class(es)? at 0", tried))


def test_what_was_tried_is_what_the_runs_say():
    tried = {key: set() for key in misses()}
    for (column, net, loss), run in RUNS.items():
        key = ("Curriculum Table 5", column, row_of(run))
        if net == "cnn8" and run["cells"].startswith("questions") and key in tried:
            tried[key].add(f"`{loss}`: {off(row_of(run), column, loss, least=(0, 0))}")
    at_40 = "symmetric 0.4"
    tried["IMAE Table 6", at_40, "IMAE"] = {
        f"`{loss}`: {subsets_off('IMAE', at_40, loss)}" for loss in (EARLY, NEVER)
    }
    for key, (_, told) in misses().items():
        assert {part for part in told.split("; ") if part.startswith("`")} == tried[key]
        assert told.startswith("nothing yet") == (not tried[key])


PARTS = {
    "human 0.4": ["curriculum.table5"],
    "`questions.readings`)": ["questions.readings"],
    "saturation of the emphasis": ["imae.table6", "questions.saturation"],
    "CE in its recipe": ["curriculum.table3", "questions.ce"],
}
"""How the line of a part ends, and its tables."""
CHOSEN = {
    "curriculum.table5": ((), LABELS, None),
    "questions.readings": ((), LABELS, 1),
    "imae.table6": (("ResNet-20",), (), None),
    "curriculum.table3": (("MAE", "MAE shift", "MAE scale"), ("symmetric 0.4",), None),
    "questions.ce": ((), ("symmetric 0.4",), None),
}


@pytest.mark.parametrize("words", PARTS)
def test_the_list_and_the_counts_of_the_page_are_those_of_the_plan(words):
    planned = {}
    for name in PARTS[words]:
        table = get(name).select(*CHOSEN.get(name, ((), (), None)))
        assert to_markdown(table) in (EVIDENCE / "cells.md").read_text(encoding="utf-8")
        planned |= plan(table)
    finished = sum(run["cells"].startswith(tuple(PARTS[words])) for run in FINISHED)
    assert f"{words} | {len(planned)} | {finished} | 0 |" in PAGE
