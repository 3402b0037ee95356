"""Tables of the page have the numbers that the files of the runs have."""

import re

import pytest
from evidence_runs import (
    EVIDENCE,
    LABELS,
    PAGE,
    RUNS,
    SUBSETS,
    classes_at_zero,
    imae,
    in_words,
    lines,
    percent,
    printed,
    printed_subsets,
    read,
    row_of,
    runs_with,
    subsets,
)

from noiseproof.papers import get


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
    rows = []
    for where, loss, numbers in lines("CCE, MAE and IMAE"):
        column, row = where.split(" · ")
        assert loss == {"CCE": "ce", "MAE": "mae", "IMAE": imae(column, "at 17.33")}[row]
        rows.append((row, column, loss, numbers))
    for where, loss, numbers in lines("Where the emphasis ends"):
        column, end = where.split(" · ")
        assert loss == imae(column, end)
        rows.append(("IMAE", column, loss, numbers))
    assert {(column, "resnet20", loss) for _, column, loss, _ in rows} == runs_with("resnet20")
    for row, column, loss, numbers in rows:
        run = RUNS[column, "resnet20", loss]
        pairs = {
            name: f"{wanted:.1f} / {subsets(run)[name]:.2f}"
            for name, wanted in printed_subsets(row, column).items()
        }
        assert numbers == [*(pairs.get(name, "-") for name in SUBSETS), str(classes_at_zero(run))]


def test_numbers_of_digits_are_those_of_the_comparison():
    part = PAGE.split("## Before: digits\n")[1].split("\n#")[0]
    found = read(EVIDENCE / "results" / "readings_digits.csv")
    told = [f"{percent(line, 'final_mean'):.1f} ± {percent(line, 'final_std'):.1f}" for line in found]
    assert sorted(told) == sorted(re.findall(r"[\d.]+ ± [\d.]+", part))


def test_numbers_of_curriculum_table3_are_those_of_the_runs():
    found = lines("MAE as it is, shifted and scaled")
    assert {("symmetric 0.4", "resnet34", loss) for _, loss, _ in found} == runs_with("resnet34")
    for row, loss, numbers in found:
        run = RUNS["symmetric 0.4", "resnet34", loss]
        cell = get("curriculum.table3").cell(row, "symmetric 0.4")
        assert row_of(run) == row
        quoted = ", quoted" if row == "CE" else ""
        fitted = f"{percent(run, 'train_noisy_subset'):.2f}"
        assert numbers == [f"{cell.printed:.2f} ± {cell.std:.2f}{quoted}", *in_words(run, fitted)]
