"""What errata and the page say of our runs is what the runs say."""

import pytest
from evidence_runs import EVIDENCE, FINISHED, FIRST, HOME, PAGE, final_imae, ours
from finished import Setting, by_setting, lost_classes, percent
from page_tables import ENDS, printed_of_table5, printed_of_table6
from run import finished

from noiseproof.papers import get

ERRATA = (HOME / "docs" / "errata.md").read_text(encoding="utf-8")


def erratum(number):
    """Its words, in one line."""
    return " ".join(ERRATA.split(f"### {number}. ")[1].split("\n##")[0].split())


def test_no_finished_run_is_left_out():
    known = [run["run"] for run in FINISHED]
    assert len(known) == len(set(known))
    assert set(known) == finished(sorted(EVIDENCE.glob("results/*/runs.csv")))
    assert f"Left are {165 - len(known)} runs" in PAGE


def test_e28_imae_ends_near_the_printed_number_only_with_a_saturation():
    column, words = "symmetric 0.4", erratum("E28")
    never, late, early = (final_imae(column, end) for end in ENDS)
    wanted = printed_of_table6("IMAE", column)["final"]
    assert wanted - never > 30
    assert late == pytest.approx(wanted, abs=3)
    assert early == pytest.approx(wanted, abs=0.5)
    assert f"ends at {never:.1f} without a saturation, at {late:.1f} with one at 17.33" in words
    assert f"and at {early:.1f} with one at 6.24; printed is {wanted:.1f}." in words


def test_e28_clean_labels_need_a_saturation_and_at_80_none_meets_the_printed_number():
    words = erratum("E28")
    never, late, early = (final_imae("clean", end) for end in ENDS)
    wanted = printed_of_table6("IMAE", "clean")["final"]
    assert wanted - never > 70
    assert [late, early] == pytest.approx([wanted] * 2, abs=0.2)
    told = f"at {never:.1f} without, at {late:.1f} with one at 17.33 and at {early:.1f} with one at 6.24"
    assert f"{told}; printed is {wanted:.1f}." in words
    ends = [final_imae("symmetric 0.8", end) for end in ENDS]
    wanted = printed_of_table6("IMAE", "symmetric 0.8")["final"]
    assert ends[0] - max(ends[1:]) > 4
    assert wanted - max(ends) > 3
    told = ", at ".join(f"{end:.1f}" for end in ends[:2]) + f" and at {ends[2]:.1f}"
    assert f"At 80% it ends at {told} in the same order; printed is {wanted:.1f}." in words


@pytest.mark.parametrize("seed", [1, 2])
def test_e28_other_seeds_say_the_same(seed):
    words = erratum("E28")
    for column in ("symmetric 0.4", "clean"):
        never, late, early = (final_imae(column, end, seed=seed) for end in ENDS)
        wanted = printed_of_table6("IMAE", column)["final"]
        assert wanted - never > 39
        assert [late, early] == pytest.approx([wanted] * 2, abs=3)
        assert f"at {never:.1f}, at {late:.1f} and at {early:.1f}" in words
    ends = [final_imae("symmetric 0.8", end, seed=seed) for end in ENDS]
    assert ends[2] > ends[0] > ends[1]
    assert printed_of_table6("IMAE", "symmetric 0.8")["final"] - max(ends) > 3
    assert f"at {ends[0]:.1f}, at {ends[1]:.1f} and at {ends[2]:.1f}" in words


def test_e28_in_the_mean_an_early_saturation_ends_higher():
    for column in ("clean", "symmetric 0.4", "symmetric 0.8"):
        _, late, early = (sum(final_imae(column, end, seed=seed) for seed in range(3)) / 3 for end in ENDS)
        assert early > late
    told = "higher with one at 6.24 than with one at 17.33 under all three labels"
    assert told in erratum("E28")


@pytest.mark.parametrize(("row", "loss"), [("SCE", "sce(q=0.95)"), ("GCE", "gce(q=0.4)")])
def test_e29_sce_and_gce_meet_the_printed_numbers_without_the_unit_maximum(row, loss):
    accuracy, snr = printed_of_table5(row, "symmetric 0.4")
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
    accuracy, snr = printed_of_table5(row, "human 0.4")
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
    reference, wanted = ours("unit_max(ce)", "clean")[0], printed_of_table5("CE", "clean")[0]
    for row, loss in (("SCE", "sce(q=0.95)"), ("GCE", "gce(q=0.4)"), ("AUL", "aul(a=2.0, q=2.0)")):
        assert ours(loss, "clean")[0] < reference < ours(f"unit_max({loss})", "clean")[0]
        assert printed_of_table5(row, "clean")[0] < wanted
    assert ours("0.5*mae", "clean")[0] < reference < ours("unit_max(mae)", "clean")[0]
    assert printed_of_table5("MAE", "clean")[0] < wanted
    assert "SCE, GCE, AUL and MAE end above CE with the unit maximum and below it without" in erratum("E29")


def test_e29_other_seeds_say_the_same():
    found = by_setting(FINISHED)
    for loss in ("sce(q=0.95)", "gce(q=0.4)", "aul(a=2.0, q=2.0)"):
        for column in ("clean", "symmetric 0.4", "human 0.4"):
            runs = found[Setting(column, "cnn8", f"unit_max({loss})")]
            first, *others = (percent(run, "final_test_accuracy") for run in runs)
            assert others
            assert all(abs(first - other) < 1.2 for other in others)
    assert "Other seeds of SCE, GCE and AUL with the unit maximum end within 1.2 points" in erratum("E29")


def test_e29_mae_agrees_either_way():
    (accuracy, snr), words = printed_of_table5("MAE", "symmetric 0.4"), erratum("E29")
    without, its_snr = ours("0.5*mae")
    assert without == pytest.approx(accuracy, abs=0.5)
    assert its_snr == pytest.approx(snr, abs=0.03)
    assert f"at {without:.1f} with {its_snr:.3f} without the unit maximum" in words
    runs = by_setting(FINISHED)[Setting("symmetric 0.4", "cnn8", "unit_max(mae)")]
    assert [lost_classes(run) for run in runs] == [1, 0, 0, 0, 0]
    for run in runs[1:]:
        last, snr_of_run = percent(run, "final_test_accuracy"), float(run["snr"])
        assert last == pytest.approx(accuracy, abs=1.1)
        assert f"at {last:.1f} with {snr_of_run:.3f}" in words
    assert float(runs[2]["snr"]) == pytest.approx(snr, abs=0.03)
    assert f"printed are {accuracy:.2f} with {snr}" in words


def test_e29_aul_agrees_either_way_and_agce_neither_way():
    accuracy, snr = printed_of_table5("AUL", "symmetric 0.4")
    words = erratum("E29")
    for loss in ("unit_max(aul(a=2.0, q=2.0))", "aul(a=2.0, q=2.0)"):
        last, its_snr = ours(loss)
        assert last == pytest.approx(accuracy, abs=0.5)
        assert its_snr == pytest.approx(snr, abs=0.03)
        assert f"at {last:.1f} with {its_snr:.3f}" in words
    assert f"are {accuracy:.2f} with {snr}" in words
    accuracy, snr = printed_of_table5("AGCE", "symmetric 0.4")
    for loss, lost in (("unit_max(agce(a=3.0, q=4.0))", "four"), ("agce(a=3.0, q=4.0)", "seven")):
        last, its_snr = ours(loss)
        assert accuracy - last > 9
        assert snr - its_snr > 0.4
        assert f"at {last:.1f} with {its_snr:.3f} and {lost} classes unlearned" in words
        assert lost_classes(FIRST[Setting("symmetric 0.4", "cnn8", loss)]) == {"four": 4, "seven": 7}[lost]
    assert f"are {accuracy:.2f} with {snr}" in words
    others = by_setting(FINISHED)[Setting("symmetric 0.4", "cnn8", "unit_max(agce(a=3.0, q=4.0))")][1:]
    assert [lost_classes(run) for run in others] == [2, 2, 3, 4]
    for run, lost in zip(others, ("two", "two", "three", "four"), strict=True):
        last, its_snr = percent(run, "final_test_accuracy"), float(run["snr"])
        assert f"at {last:.1f} with {its_snr:.3f} and {lost}" in words


def test_e17_mae_shift_ends_near_the_number_of_table_3():
    shift = "unit_max(shift(mae, tau=3.0, initial_margin=5.097))"
    last = percent(FIRST[Setting("symmetric 0.4", "resnet34", shift)], "final_test_accuracy")
    one, other = (get(f"curriculum.table{n}").cell("MAE shift", "symmetric 0.4").printed for n in (3, 10))
    assert abs(last - one) < 1.1 < 6 < abs(last - other)
    assert f"A run of ours ended at {last:.2f} at 40%" in erratum("E17")
