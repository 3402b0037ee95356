import csv
import io
import json
import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.train import Comparison, Config
from noiseproof.train.comparison.table import Outcome

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def outcome(loss, seed, final, best=None, memorised=None, selected=None, problem=None, **changes):
    result = {
        "final_test_accuracy": final,
        "best_test_accuracy": best,
        "selected": None if selected is None else {"test_accuracy": selected},
        "train": {"noisy_subset": memorised},
    }
    config = Config(loss=loss, seed=seed, **changes)
    return Outcome(config, Path("runs", f"{loss}{seed}"), None if problem else result, problem)


@settings(deadline=None, max_examples=30)
@given(SHARES, SHARES)
def test_mean_standard_deviation_and_difference(ce, mae):
    runs = [outcome("ce", seed, value) for seed, value in enumerate(ce)]
    runs += [outcome("mae", seed, value) for seed, value in enumerate(mae)]
    found = Comparison(runs)
    for row, values in zip(found.rows, (ce, mae), strict=True):
        assert row.mean("final") == pytest.approx(statistics.fmean(values))
        if len(values) == 1:
            assert row.std("final") is None
        else:
            assert row.std("final") == pytest.approx(statistics.stdev(values))
    assert found.difference(found.rows[0]) is None
    expected = statistics.fmean(mae) - statistics.fmean(ce)
    assert found.difference(found.rows[1]) == pytest.approx(expected)


def test_cells_contain_percentages():
    runs = [outcome("ce", 0, 0.7, 0.9, 0.5), outcome("ce", 1, 0.72, 0.9, 0.7), outcome("mae", 0, 0.9, 0.91)]
    assert Comparison(runs).cells() == [
        {
            "run": "ce",
            "seeds": "2",
            "final %": "71.0 ± 1.4",
            "gain": "",
            "best %": "90.0 ± 0.0",
            "memorised": "60.0 ± 14.1",
        },
        {"run": "mae", "seeds": "1", "final %": "90.0", "gain": "+19.0", "best %": "91.0", "memorised": "-"},
    ]


def test_selected_accuracy_has_its_own_column():
    found = Comparison([outcome("ce", 0, 0.7, 0.9, selected=0.85)])
    assert found.cells()[0]["selected %"] == "85.0"


def test_failed_runs_are_not_averaged():
    runs = [
        outcome("ce", 0, 0.7),
        outcome("ce", 1, None, problem="killed"),
        outcome("mae", 0, None, problem="x"),
    ]
    found = Comparison(runs)
    ce, mae = found.to_dict()["rows"]
    assert (ce["seeds"], ce["failed"], ce["final_mean"]) == ([0], 1, 0.7)
    assert (mae["seeds"], mae["failed"], mae["final_mean"], mae["final_against_first"]) == ([], 1, None, None)
    assert [one.problem for one in found.failed] == ["killed", "x"]
    assert found.cells()[1]["final %"] == "-"


def test_all_files_contain_the_same_numbers(tmp_path):
    runs = [outcome("ce + mae", 0, 0.7, 0.9), outcome("gls(alpha=-0.1)", 0, 0.125, 0.25)]
    found = Comparison(runs)
    paths = found.write(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["table.csv", "table.md", "table.json"]
    table = json.loads(paths[2].read_text())
    lines = list(csv.DictReader(io.StringIO(paths[0].read_text())))
    assert [line["run"] for line in lines] == ["ce + mae", "gls(alpha=-0.1)"]
    assert [float(line["final_mean"]) for line in lines] == [row["final_mean"] for row in table["rows"]]
    assert float(lines[1]["final_against_first"]) == 0.125 - 0.7
    assert lines[0]["memorised_mean"] == ""
    markdown = paths[1].read_text().splitlines()
    assert markdown[3] == "| `gls(alpha=-0.1)` | 1 | 12.5 | -57.5 | 25.0 |"


def test_common_settings_are_listed():
    runs = [outcome("ce", 0, 0.7, lr=0.5), outcome("mae", 1, 0.7, lr=0.5)]
    settings = Comparison(runs).to_dict()["settings"]
    assert settings["lr"] == 0.5
    assert not {"loss", "seed", "out", "device"} & set(settings)


def test_bars_in_names_are_escaped_in_markdown():
    runs = [outcome("ce", 0, 0.7, augment="flip | crop(padding=4)"), outcome("ce", 0, 0.7)]
    lines = Comparison(runs).to_markdown().splitlines()
    assert lines[2].startswith("| `augment=flip \\| crop(padding=4)` | 1 |")
