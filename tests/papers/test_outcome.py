"""A comparison as text, Markdown and JSON: the same numbers, and no injected markup."""

import json

import pytest

from noiseproof.cli.papers_text import counted, narrow_lines
from noiseproof.papers.cells import BEST, Cell, Quoted, Runs, Table
from noiseproof.papers.comparing import Comparison, Entry, compare
from noiseproof.papers.plan import Changes
from noiseproof.papers.render import HEADINGS, lines, to_dict, to_markdown
from noiseproof.papers.results import Result
from noiseproof.papers.tables import TABLES

HOSTILE = '<script>alert(1)</script> | `x` *y* & "z"\n# no heading'


def finished_runs(number):
    return tuple(Result(f"run {seed}", seed) for seed in range(number))


def compared(row="MAE", note="A note.", problem=None, short=None, **numbers):
    runs = Runs({"loss": "mae"}, (0, 1, 2, 3, 4), pick=BEST)
    ours = Cell(row, "symmetric 0.4 · final %", "test_accuracy_final_%", 80.5, runs, std=0.3)
    quoted = Cell("CE", "symmetric 0.4 · final %", "test_accuracy_final_%", 70.25, Quoted("Somebody"))
    found = Entry(ours, **{"ours": 82.0, "std": 0.4, "runs": finished_runs(5), "wanted": 5, **numbers})
    if problem is not None:
        found = Entry(ours, wanted=5, problems=(problem,))
    return Comparison(Table("mine.table1", row, (ours, quoted), (note,)), (found, Entry(quoted)), short or {})


def test_line_contains_our_number_the_printed_one_and_the_difference():
    first, second = (dict(zip(HEADINGS, line, strict=True)) for line in lines(compared()))
    assert first["printed"] == "80.50 ± 0.30"
    assert first["ours"] == "82.000 ± 0.400"
    assert (first["diff"], first["in std"]) == ("+1.500", "+3.0")
    assert (first["seeds"], first["state"]) == ("best of 5", "finished")
    assert (second["printed"], second["ours"], second["state"]) == ("70.25", "-", "quoted")


def test_narrow_line_shows_the_state_for_a_missing_number():
    first, second = narrow_lines(compared())
    assert first[:3] == ["MAE\nsymmetric 0.4 · final %", "80.50 ± 0.30", "82.000 ± 0.400"]
    assert second[2] == "quoted"


def test_narrow_line_shows_the_number_of_finished_runs():
    [few, _] = narrow_lines(compared(runs=finished_runs(2)))
    assert few[2:4] == ["82.000 ± 0.400\n2 of 5", "best of 2"]
    [failed, _] = narrow_lines(compared(runs=finished_runs(4), problems=("no memory",)))
    assert failed[2:4] == ["82.000 ± 0.400\n1 failed", "best of 4"]


def test_baseline_runs_are_not_counted_as_seeds():
    runs = Runs({"loss": "mae"}, (0, 1), pick=BEST, baseline={"loss": "ce"})
    cell = Cell("MAE", "diff", "diff_vs_clean_accuracy_pp", -2.0, runs)
    entry = Entry(cell, -1.0, runs=finished_runs(2), baseline=finished_runs(2), wanted=2)
    table = Table("mine.table1", "Mine", (cell,))
    [line] = lines(Comparison(table, (entry,)))
    assert (line[HEADINGS.index("seeds")], line[-1]) == ("best of 2", "finished")
    assert (
        Entry(cell, -1.0, runs=finished_runs(2), baseline=finished_runs(1), wanted=2).state
        == "baseline 1 of 2"
    )


def test_computed_reference_number_is_marked():
    table = TABLES["imae.table7"].select(["IMAE*"])
    found = compare(table, out="nowhere")
    note = "IMAE · T=16: not printed: the body of the table is missing in the text; computed from equation 15"
    assert all(line[2].endswith(" *") for line in lines(found))
    assert f"T=4, {note}" in to_markdown(found)
    assert to_dict(found)["cells"][0]["note"].startswith("not printed")


def test_metric_compared_by_ratio_has_no_difference():
    cell = Cell("MAE", "clean", "alpha_t_x1e4", 4.05, Runs({"loss": "mae"}, (0,)))
    entry = Entry(cell, 5.0, runs=finished_runs(1), wanted=1)
    assert (entry.ours, entry.difference, entry.deviations) == (5.0, None, None)


@pytest.mark.parametrize(
    ("finished", "wanted", "problems", "words"),
    [
        (0, 5, (), "not run"),
        (2, 5, (), "2 of 5"),
        (5, 5, (), "finished"),
        (0, 5, ("a", "b"), "2 failed"),
        (3, 5, ("a", "b"), "2 failed, 3 finished"),
    ],
)
def test_state_of_an_entry(finished, wanted, problems, words):
    cell = Cell("MAE", "clean", "test_accuracy_%", 90.0, Runs({"loss": "mae"}, (0,)))
    assert Entry(cell, runs=finished_runs(finished), wanted=wanted, problems=problems).state == words


def test_markdown_escapes_names():
    text = to_markdown(compared(HOSTILE, HOSTILE, short={("a", "b"): Changes(epochs=2)}))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 4
    bars = [line.replace("\\|", "").count("|") for line in table]
    assert set(bars) == {len(HEADINGS) + 1}
    assert "<script" not in text
    assert sum(line.startswith("#") for line in text.splitlines()) == 1
    assert "changed from the paper: epochs=2" in text


def test_dict_is_json_serializable():
    found = json.loads(json.dumps(to_dict(compared(problem="it broke"))))
    first, second = found["cells"]
    assert (first["ours"], first["problems"], first["state"]) == (None, ["it broke"], "1 failed")
    assert (second["printed"], second["state"], second["difference"]) == (70.25, "quoted", None)
    assert found["notes"] == ["A note."]
    assert second["pick"] is None


def test_dict_lists_the_runs_of_a_number():
    first, _ = to_dict(compared(runs=finished_runs(2), baseline=(Result("clean", 0),)))["cells"]
    assert (first["pick"], first["seeds"], first["runs"]) == ("best", [0, 1], ["run 0", "run 1"])
    assert (first["finished"], first["wanted"], first["baseline_runs"]) == (2, 5, ["clean"])


def test_cells_without_our_number_are_counted():
    filled, empty = compared().parts()
    assert [entry.state for entry in filled.entries] == ["finished"]
    assert counted(empty) == "1 cell quoted"
    failed, _ = compared(problem="no memory").parts()
    assert [entry.state for entry in failed.entries] == ["1 failed"]
