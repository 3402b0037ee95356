"""The tables people read are those of the files that were measured."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIMES = json.loads((ROOT / "benchmarks/kernels_h200.json").read_text())
TRAINING = json.loads((ROOT / "benchmarks/training_h200.json").read_text())


def script(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(path):
    return (ROOT / path).read_text(encoding="utf-8")


def sections(text):
    return {part.split("\n", 1)[0]: part.splitlines() for part in text.split("\n## ")[1:]}


@pytest.mark.parametrize("name", ["kernels_h200", "kernels_h200_compiled"])
def test_every_row_of_the_benchmark_is_in_its_page(name):
    row, shown = script("benchmarks/kernels.py").row, sections(page(f"benchmarks/{name}.md"))
    tables = json.loads(page(f"benchmarks/{name}.json"))["tables"]
    for shape, entries in tables.items():
        rows = [line for line in shown[shape] if line.startswith("| ")]
        assert rows[1:] == [row(entry) for entry in entries]
    assert list(shown) == list(tables)


def test_rows_measured_with_the_launcher_are_marked():
    row = script("benchmarks/kernels.py").row
    entry = TIMES["tables"]["8192x32000:bfloat16"][0]
    old = {key: value for key, value in entry.items() if key not in ("launcher", "rounds", "commit")}
    assert row(entry | {"launcher": "on"}).startswith("| ce ‡ | ")
    assert row(entry | {"launcher": "off"}) == row(old)
    assert row(old).startswith("| ce | ")


def test_a_new_measurement_keeps_the_introduction_with_the_legend(tmp_path):
    written = tmp_path / "kernels_h200.md"
    markdown = script("benchmarks/kernels.py").markdown
    assert markdown(TIMES, written).startswith("# Losses on a GPU\n\ndevice NVIDIA H200, ")
    written.write_text(page("benchmarks/kernels_h200.md"), encoding="utf-8")
    text = markdown(TIMES, written)
    assert "‡ measured with the C++ launcher of an earlier version" in text
    assert text + "\n" == page("benchmarks/kernels_h200.md")


def test_every_time_says_how_it_was_taken():
    commits = {
        entry["commit"] for entries in TIMES["tables"].values() for entry in entries if "commit" in entry
    }
    assert all(commit in page("benchmarks/kernels_h200.md") for commit in commits)
    for entries in TIMES["tables"].values():
        assert {entry.get("launcher", "off") for entry in entries} <= {"on", "off"}
        assert all(entry["rounds"] > 0 for entry in entries)


def test_the_table_of_the_docs_is_the_benchmark():
    table = script("docs/make_fused_table.py")
    shown = page("docs/fused_losses.md").partition(table.START + "\n")[2].partition(table.END)[0]
    assert shown == table.gpu_table(TIMES)


def test_times_of_training_are_those_measured_and_say_their_commit():
    marks = {"fccee65": "", "2fba892": " ‡", "a61fdd8": " §"}
    for model, times in TRAINING["models"].items():
        commits = TRAINING.get("commits", {}).get(model, {})
        cells = [f"{time:.2f}{marks[commits.get(name, 'fccee65')]}" for name, time in times.items()]
        line = f"| {model} | {' | '.join(cells)} | "
        assert line in page("benchmarks/training_h200.md")
        assert line in page("docs/training_on_a_gpu.md")


def test_training_that_meets_every_goal_is_said_to():
    goals = script("benchmarks/training.py").GOALS
    met = [TRAINING["models"][model]["captured, 8 runs"] <= goal for model, goal in goals.items()]
    assert all(met) == ("All four networks meet their goals" in page("docs/training_on_a_gpu.md"))
