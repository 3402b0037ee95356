"""Tables of the page: made from the files of the runs, of one seed and of several, nothing left out."""

import re

import pytest
from evidence_runs import EVIDENCE, FINISHED, PAGE
from finished import Setting, by_setting, percent
from page import PARTS, TABLES, as_table, planned_of, with_tables
from page_tables import ends_of_the_emphasis, table3, table5, table6
from run import read_csv
from unmet import unmet

from noiseproof.papers import get
from noiseproof.papers.plan_words import to_markdown

CHOSEN = {
    "curriculum.table5": ((), ("clean", "symmetric 0.4", "human 0.4"), None),
    "questions.readings": ((), ("clean", "symmetric 0.4", "human 0.4"), 1),
    "imae.table6": (("ResNet-20",), (), None),
    "questions.saturation": ((), (), None),
    "curriculum.table3": (("MAE", "MAE shift", "MAE scale"), ("symmetric 0.4",), None),
    "questions.ce": ((), ("symmetric 0.4",), None),
}
"""Rows, columns and seeds that were said before the runs."""


def run(loss, seed, final, *, noise="symmetric(0.4)", model="cnn8", classes="80 90", **more):
    return {
        "run": f"{loss}{seed}",
        "data": "cifar10",
        "noise": noise,
        "model": model,
        "loss": loss,
        "seed": str(seed),
        "final_test_accuracy": str(final),
        "best_test_accuracy": str(final + 0.01),
        "test_class_accuracy": classes,
        "snr": "0.5",
        "train_intact": "0.5",
        "train_clean_subset": "0.75",
        "train_noisy_subset": "0.25" if noise else "",
        **more,
    }


def test_the_page_has_the_tables_of_the_runs():
    assert with_tables(PAGE, FINISHED) == PAGE


def test_every_finished_run_is_counted_in_a_line_of_the_page():
    found = by_setting(FINISHED)
    lines = [line for name, make in TABLES.items() if name != "not met" for line in [*make(found)][1:]]
    told = {(line[1], int(line[2])) for line in lines}
    assert {(f"`{setting.loss}`", len(runs)) for setting, runs in found.items()} <= told
    alike = [line for line in ends_of_the_emphasis(found) if "· at 17.33" in line[0]]
    assert len(lines) == len(found) + len(alike)


@pytest.mark.parametrize("part", PARTS)
def test_the_list_and_the_counts_of_the_page_are_those_of_the_plan(part):
    cells = (EVIDENCE / "cells.md").read_text(encoding="utf-8")
    for name in PARTS[part]:
        assert to_markdown(get(name).select(*CHOSEN[name])) in cells
    done = [one for one in FINISHED if one["cells"].startswith(PARTS[part])]
    assert f"| {part} | {len(planned_of(PARTS[part]))} | {len(done)} |" in PAGE


def test_table5_takes_every_number_from_the_best_of_the_runs():
    runs = [run("unit_max(ce)", 1, 0.61, snr="0.625", classes="0 0"), run("unit_max(ce)", 0, 0.59, snr="0.9")]
    _, (row, *_, last, mean, best, printed_snr, snr, lost) = table5(by_setting(runs), "symmetric 0.4")
    assert (row, last, mean, best) == ("CE", "61.00", "60.00 ± 1.41", "62.00")
    assert (printed_snr, snr, lost) == ("0.57", "0.625", "0, 2")


def test_table5_of_clean_labels_has_no_snr():
    heading, line = table5(by_setting([run("unit_max(ce)", 0, 0.9, noise="")]), "clean")
    assert line == ["CE", "`unit_max(ce)`", "1", "90.64", "90.00", "-", "91.00", "0"]
    assert len(heading) == len(line)


def test_tables_of_means_have_mean_and_deviation():
    runs = [run("ce", seed, final, model="resnet20") for seed, final in ((0, 0.66), (1, 0.70))]
    _, line = table6(by_setting(runs))
    assert line[:5] == ["symmetric 0.4 · CCE", "`ce`", "2", "81.2 / 69.00 ± 2.83", "67.0 / 68.00 ± 2.83"]
    assert line[7] == f"72.6 / {100 * (0.68 * 10 + 0.5 * 50) / 60:.2f} ± {2.83 / 6:.2f}"
    runs = [run("unit_max(mae)", seed, final, model="resnet34") for seed, final in ((0, 0.01), (1, 0.02))]
    _, line = table3(by_setting(runs))
    assert line[:5] == ["MAE", "`unit_max(mae)`", "2", "1.29 ± 0.50", "1.50 ± 0.71"]


def test_what_is_not_met_is_told_with_what_was_tried():
    near, far = 0.6721 + 0.0099, 0.6721 - 0.0101
    met = run("unit_max(gce(q=0.4))", 0, near, snr="0.93")
    assert len([*unmet(by_setting([met]))]) == 1
    missed = [run("unit_max(gce(q=0.4))", 0, far, snr="0.93", classes="0 50"), run("gce(q=0.4)", 0, near)]
    _, line = unmet(by_setting(missed))
    assert line[:5] == ["Curriculum Table 5", "symmetric 0.4", "GCE", "accuracy -1.01", "1"]
    assert line[5] == "`gce(q=0.4)`: accuracy +0.99, snr -0.390"


def test_a_miss_of_the_snr_alone_counts():
    _, line = unmet(by_setting([run("unit_max(gce(q=0.4))", 0, 0.6721, snr="0.83")]))
    assert line[3] == "snr -0.060"


def test_a_page_without_a_place_for_a_table_is_refused():
    with pytest.raises(ValueError, match="0 places for 'table 6'"):
        with_tables(PAGE.replace("<!-- table 6 -->", ""), FINISHED)


def test_rows_have_as_many_parts_as_their_heading():
    text = as_table([["a", "b", "c"], ["1", "2", "3"]])
    assert text == "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |"


def test_numbers_of_digits_are_those_of_the_comparison():
    part = PAGE.split("## Before: digits\n")[1].split("\n#")[0]
    found = read_csv(EVIDENCE / "results" / "readings_digits.csv")
    told = [f"{percent(line, 'final_mean'):.1f} ± {percent(line, 'final_std'):.1f}" for line in found]
    assert sorted(told) == sorted(re.findall(r"[\d.]+ ± [\d.]+", part))


def test_settings_are_told_apart_by_labels_network_and_loss():
    runs = [run("ce", 0, 0.5, noise=""), run("ce", 0, 0.5), run("ce", 0, 0.5, data="cifar_n(kind='worse')")]
    runs += [run("ce", 0, 0.5, model="resnet20"), run("ce", 1, 0.5)]
    found = by_setting(runs)
    assert {setting.labels for setting in found} == {"clean", "symmetric 0.4", "human 0.4"}
    assert len(found) == 4
    assert [one["seed"] for one in found[Setting("symmetric 0.4", "cnn8", "ce")]] == ["0", "1"]
