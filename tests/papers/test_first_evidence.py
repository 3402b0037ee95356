"""The page of our runs leaves nothing out: what is finished, what is not met, and what was tried."""

import re

import pytest
from evidence_runs import (
    EVIDENCE,
    FINISHED,
    HOME,
    LABELS,
    PAGE,
    RUNS,
    SATURATIONS,
    classes_at_zero,
    imae,
    ours,
    percent,
    printed,
    printed_subsets,
    read,
    row_of,
    subsets,
)

from noiseproof.papers import get
from noiseproof.papers.plan import plan
from noiseproof.papers.plan_words import to_markdown

ERRATA = (HOME / "docs" / "errata.md").read_text(encoding="utf-8")


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
    column, words = "symmetric 0.4", erratum("E28")
    never, late, early = (final_imae(column, end) for end in SATURATIONS)
    wanted = printed_subsets("IMAE", column)["final"]
    assert wanted - never > 30
    assert late == pytest.approx(wanted, abs=3)
    assert early == pytest.approx(wanted, abs=0.5)
    assert f"ends at {never:.1f} without a saturation, at {late:.1f} with one at 17.33" in words
    assert f"and at {early:.1f} with one at 6.24; printed is {wanted:.1f}." in words


def test_e28_clean_labels_need_a_saturation_and_at_80_none_meets_the_printed_number():
    words = erratum("E28")
    never, late = (final_imae("clean", end) for end in ("never", "at 17.33"))
    wanted = printed_subsets("IMAE", "clean")["final"]
    assert wanted - never > 70
    assert late == pytest.approx(wanted, abs=0.2)
    assert f"at {never:.1f} without and at {late:.1f} with one at 17.33; printed is {wanted:.1f}." in words
    ends = [final_imae("symmetric 0.8", end) for end in SATURATIONS]
    wanted = printed_subsets("IMAE", "symmetric 0.8")["final"]
    assert ends[0] - max(ends[1:]) > 4
    assert wanted - max(ends) > 3
    told = ", at ".join(f"{end:.1f}" for end in ends[:2]) + f" and at {ends[2]:.1f}"
    assert f"At 80% it ends at {told} in the same order; printed is {wanted:.1f}." in words


def final_imae(column, end):
    return subsets(RUNS[column, "resnet20", imae(column, end)])["final"]


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


@pytest.mark.parametrize(("row", "loss"), [("SCE", "sce(q=0.95)"), ("GCE", "gce(q=0.4)")])
def test_e29_human_labels_say_the_same_of_sce_and_gce(row, loss):
    accuracy, snr = printed(row, "human 0.4")
    without, its_snr = ours(loss, "human 0.4")
    unit, unit_snr = ours(f"unit_max({loss})", "human 0.4")
    assert unit < without < accuracy
    assert its_snr == pytest.approx(snr, abs=0.002)
    assert snr - unit_snr > 0.03
    words = erratum("E29")
    assert f"ends at {unit:.1f} with {unit_snr:.3f}" in words
    assert f"at {without:.1f} with {its_snr:.3f}" in words
    assert f"printed are {accuracy:.2f} with {snr}" in words


def test_e29_with_clean_labels_losses_end_below_ce_only_without_the_unit_maximum():
    reference, wanted = ours("unit_max(ce)", "clean")[0], printed("CE", "clean")[0]
    for row, loss in (("SCE", "sce(q=0.95)"), ("GCE", "gce(q=0.4)"), ("AUL", "aul(a=2.0, q=2.0)")):
        assert ours(loss, "clean")[0] < reference < ours(f"unit_max({loss})", "clean")[0]
        assert printed(row, "clean")[0] < wanted
    assert ours("0.5*mae", "clean")[0] < reference < ours("unit_max(mae)", "clean")[0]
    assert printed("MAE", "clean")[0] < wanted
    assert "SCE, GCE, AUL and MAE end above CE with the unit maximum and below it without" in erratum("E29")


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


def off(row, column, loss, least=(1, 0.05)):
    """By how much a run of Curriculum Table 5 misses what is printed, in the words of the page."""
    gaps = [got - wanted for got, wanted in zip(ours(loss, column), printed(row, column), strict=True)]
    words = (f"accuracy {gaps[0]:+.2f}", f"snr {gaps[1]:+.3f}")
    return ", ".join(word for word, gap, limit in zip(words, gaps, least, strict=True) if abs(gap) > limit)


def off_table3(row, loss):
    """The same for Curriculum Table 3."""
    last = percent(RUNS["symmetric 0.4", "resnet34", loss], "final_test_accuracy")
    gap = last - get("curriculum.table3").cell(row, "symmetric 0.4").printed
    return f"accuracy {gap:+.2f}" if abs(gap) > 1 else ""


def subsets_off(row, column, loss):
    """The same for IMAE Table 6."""
    found, wanted = subsets(RUNS[column, "resnet20", loss]), printed_subsets(row, column)
    gaps = {name: found[name] - number for name, number in wanted.items()}
    return ", ".join(f"{name} {gap:+.2f}" for name, gap in gaps.items() if abs(gap) > 1)


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
    for row, loss in (("CCE", "ce"), ("MAE", "mae"), ("IMAE", None)):
        for column in ("clean", "symmetric 0.4", "symmetric 0.8"):
            run = RUNS.get((column, "resnet20", its := loss or imae(column, "at 17.33")))
            if run is not None:
                wanted["IMAE Table 6", column, row] = subsets_off(row, column, its), run
    for (column, model, loss), run in RUNS.items():
        if model == "resnet34":
            wanted["Curriculum Table 3", column, row_of(run)] = off_table3(row_of(run), loss), run
    told = misses()
    assert set(told) == {key for key, (words, _) in wanted.items() if words}
    for key, (words, tried) in told.items():
        assert words == wanted[key][0]
        lost = classes_at_zero(wanted[key][1])
        assert bool(lost) == bool(re.search(rf"\b{lost} (and \d )?class(es)? at 0", tried))


def test_e17_mae_shift_ends_near_the_number_of_table_3():
    shift = "unit_max(shift(mae, tau=3.0, initial_margin=5.097))"
    last = percent(RUNS["symmetric 0.4", "resnet34", shift], "final_test_accuracy")
    one, other = (get(f"curriculum.table{n}").cell("MAE shift", "symmetric 0.4").printed for n in (3, 10))
    assert abs(last - one) < 1.1 < 6 < abs(last - other)
    assert f"A run of ours ended at {last:.2f} at 40%" in erratum("E17")


def test_what_was_tried_is_what_the_runs_say():
    tried = {key: set() for key in misses()}
    for (column, net, loss), run in RUNS.items():
        key = ("Curriculum Table 5", column, row_of(run))
        if net == "cnn8" and run["cells"].startswith("questions") and key in tried:
            tried[key].add(f"`{loss}`: {off(row_of(run), column, loss, least=(0, 0))}")
    for column in ("symmetric 0.4", "symmetric 0.8"):
        others = [imae(column, end) for end in ("at 6.24", "never")]
        tried["IMAE Table 6", column, "IMAE"] = {
            f"`{loss}`: {subsets_off('IMAE', column, loss)}" for loss in others
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
