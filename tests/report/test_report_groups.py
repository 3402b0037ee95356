"""Groups of runs and their names."""

import dataclasses

import pytest
from small_runs import SETTINGS, metrics_of, write_run

from noiseproof import report
from noiseproof.report.comparison import best_group, common, compare, title_of
from noiseproof.report.evidence import Evidence, groups_of
from noiseproof.report.summary import facts_of, mean_of
from noiseproof.report.tables import comparison_table
from noiseproof.report.text import NONE
from noiseproof.testing import example_record

RECORD = example_record(60, 6)


@pytest.fixture
def runs(tmp_path):
    """Write runs with these settings, each in a folder of its own."""

    def write(*changes):
        number = len(list(tmp_path.iterdir()))
        return [
            Evidence(write_run(tmp_path / f"r{number + k}", RECORD, settings=SETTINGS | change, outputs={}))
            for k, change in enumerate(changes)
        ]

    return write


def shape(groups):
    return [(group.name, len(group.runs)) for group in groups]


def test_runs_of_several_seeds_are_one_group(runs):
    found = runs(
        {"loss": "ce", "seed": 0, "out": "a"},
        {"loss": "mae", "seed": 0},
        {"loss": "ce", "seed": 1, "out": "b", "device": "cuda", "noise_seed": 7},
    )
    assert shape(groups_of(found)) == [("ce", 2), ("mae", 1)]
    assert title_of(groups_of(found)) == "2 experiments compared"


def test_group_names_contain_differing_settings(runs):
    found = runs({"lr": 0.1, "seed": 0}, {"lr": 0.1, "seed": 1}, {"lr": 0.2, "seed": 0})
    assert shape(groups_of(found)) == [("ce, lr=0.1", 2), ("ce, lr=0.2", 1)]
    found = runs({"method": "nal"}, {"method": None})
    assert shape(groups_of(found)) == [("nal", 1), ("ce", 1)]


def test_group_names_contain_differing_models(runs):
    found = runs(
        {"loss": "ce", "model": "resnet20", "lr": 0.1}, {"loss": "mae", "model": "resnet56", "lr": 0.2}
    )
    assert shape(groups_of(found)) == [("ce, model=resnet20", 1), ("mae, model=resnet56", 1)]


def test_repeated_run_is_not_a_second_seed(runs):
    assert shape(groups_of(runs({"seed": 3}, {"seed": 3}))) == [("ce (r0)", 1), ("ce (r1)", 1)]
    records = [Evidence(RECORD), Evidence(RECORD)]
    assert shape(groups_of(records)) == [("record (record)", 1), ("record (record) (run 2)", 1)]


def test_title_counts_seeds_if_all_groups_have_the_same_number(runs):
    assert title_of(groups_of(runs({"loss": "ce"}, {"loss": "mae"}))) == "2 runs compared"
    both = runs({"loss": "a", "seed": 0}, {"loss": "a", "seed": 1}, {"loss": "b", "seed": 0})
    assert title_of(groups_of(both)) == "2 experiments compared"
    assert title_of(groups_of(both[:2])) == "1 experiment compared, 2 seeds each"


def test_common_settings_are_those_of_all_runs(runs):
    told = common(groups_of(runs({"loss": "a"}, {"loss": "b"})))
    assert (
        told == "All were trained on digits with noise symmetric(0.3), with the network mlp, for 12 epochs."
    )
    told = common(groups_of(runs({"noise": None, "model": "a"}, {"noise": None, "model": "b"})))
    assert told == "All were trained on digits, for 12 epochs."
    assert common(groups_of(runs({"data": "a"}, {"data": "b"}))) == ""
    assert common(groups_of([Evidence(RECORD), Evidence(RECORD)])) == ""


def with_test(final, **changes):
    facts = facts_of(Evidence(RECORD, loss="ce"))
    return dataclasses.replace(facts, final_test=final, best_test=0.99, best_epoch=2, **changes)


def test_mean_of_seeds_is_none_if_one_value_is_missing():
    mean = mean_of([with_test(0.5, suspects=10), with_test(0.7, suspects=13)])
    assert mean.final_test == pytest.approx(0.6)
    assert mean.suspects == 12
    assert mean.is_known is True
    assert mean_of([with_test(0.5), with_test(None)]).final_test is None


def test_best_group_by_final_accuracy_or_memorised_share():
    assert best_group([with_test(0.5), with_test(0.8), with_test(None)]) == 1
    assert best_group([with_test(None, memorised=share) for share in (None, 0.3, 0.1)]) == 2


def test_text_and_table_show_the_mean_over_seeds(runs):
    groups = groups_of(runs({"loss": "ce", "seed": 0}, {"loss": "ce", "seed": 1}, {"loss": "mae"}))
    facts = [[with_test(0.5), with_test(0.7)], [with_test(0.8, memorised=0.0)]]
    words = compare(groups, [mean_of(seeds) for seeds in facts])
    assert words[0] == (
        "mae ends with the highest test accuracy, 80.0%, the mean of its seeds: 20.0 points above ce."
    )
    assert words[1].endswith("of the wrong labels, mae 0%.")
    table = comparison_table(["ce", "mae"], facts)
    place = table.columns.index("test, final")
    assert [(row[0], row[place], row[-1]) for row in table.rows] == [
        ("mae", "80.0%", "1"),
        ("ce", "60.0 ± 14.1", "2"),
    ]
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_line_is_the_mean_over_seeds_and_band_their_range(tmp_path):
    found = []
    for seed, test in enumerate((0.6, 0.8)):
        settings, metrics = SETTINGS | {"seed": seed}, metrics_of(RECORD, test)
        found.append(write_run(tmp_path / str(seed), RECORD, settings=settings, metrics=metrics, outputs={}))
    metrics[-1]["test_accuracy"] = None
    settings = SETTINGS | {"loss": "mae"}
    found.append(write_run(tmp_path / "m", RECORD, settings=settings, metrics=metrics, outputs={}))
    ax = report.plot_test_accuracy(found)
    ce, mae = ax.get_lines()
    assert ce.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
    assert mae.get_xdata().tolist() == [1, 2, 3, 4, 5]
    expected = [[line["test_accuracy"] for line in metrics_of(RECORD, test)] for test in (0.6, 0.8)]
    assert ce.get_ydata().tolist() == pytest.approx([sum(pair) / 2 for pair in zip(*expected, strict=True)])
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    last = sorted(set(corners[corners[:, 0] == 6][:, 1].tolist()))
    assert last == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("known", [True, False])
def test_table_says_suspected_without_clean_labels(known):
    facts = [[facts_of(Evidence(example_record(known=known, seed=seed), loss="ce"))] for seed in (0, 1)]
    table = comparison_table(["a", "b"], facts)
    told = " | ".join(table.columns)
    assert ("wrong memorised" in told) == known
    assert ("suspected memorised" in told) == (not known)
    assert ("suspects, precision" in told) == known
    assert "test, final" not in told
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert NONE not in {cell for row in table.rows for cell in row}
