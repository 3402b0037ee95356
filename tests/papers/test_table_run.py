"""Runs of a table: finished runs are kept, stopped runs resume, failed runs do not stop others."""

import shutil
import sys

import pytest
from stopping import StopAt, contents

from noiseproof.dynamics import RunFolder
from noiseproof.papers import compare, run
from noiseproof.papers.cells import BEST, Missing, Quoted, Runs
from noiseproof.papers.plan import Changes, plan, with_folder
from noiseproof.train import ComparisonWatcher, Interrupted, RunExistsError, fit


def result_times(folder):
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("runs/*/result.json")}


def final_accuracies(folder, table, **settings):
    """Final test accuracies of the runs with these settings, in percent."""
    found = [RunFolder(with_folder(one, folder).out) for one in plan(table).values()]
    mine = [one for one in found if all(one.settings[name] == value for name, value in settings.items())]
    return [100 * one.result["final_test_accuracy"] for one in mine]


def test_entry_is_the_mean_over_seeds(tmp_path, table_of, tiny):
    table = table_of(("mae", "clean", Runs({**tiny, "loss": "mae"}, (0, 1))))
    [entry] = run(table, out=tmp_path, jobs=1).entries
    one, two = final_accuracies(tmp_path, table)
    assert entry.ours == pytest.approx((one + two) / 2)
    assert entry.std == pytest.approx(abs(one - two) / 2**0.5)
    assert entry.difference == pytest.approx(entry.ours - 90)
    assert entry.deviations == pytest.approx(entry.difference / (entry.std**2 + 0.5**2) ** 0.5)
    assert (entry.finished, entry.wanted, entry.state) == (2, 2, "finished")


def test_finished_runs_are_not_trained_again(tmp_path, table_of):
    first = table_of(("ce", "a", {"loss": "ce"}))
    run(first, out=tmp_path, jobs=1)
    before = result_times(tmp_path)
    more = table_of(("ce", "a", {"loss": "ce"}), ("mae", "a", {"loss": "mae"}))
    found = run(more, out=tmp_path, jobs=1)
    after = result_times(tmp_path)
    assert (len(before), len(after)) == (1, 2)
    assert {name: after[name] for name in before} == before
    assert [entry.finished for entry in found.entries] == [1, 1]


def test_failed_run_is_reported_and_others_finish(tmp_path, table_of):
    broken = {"loss": "ce", "lr": 1e30, "momentum": 0.0, "epochs": 3}
    found = run(table_of(("broken", "a", broken), ("mae", "a", {"loss": "mae"})), out=tmp_path, jobs=1)
    bad, good = found.entries
    assert (bad.ours, bad.state, good.state) == (None, "1 failed", "finished")
    [problem] = found.problems
    assert "NonFiniteError" in problem
    assert compare(found.table, out=tmp_path).entries[0].state == "not run"


DAMAGE = {"config.json": "{bad", "result.json": ""}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_folder_is_reported_and_others_finish(tmp_path, table_of, name):
    one, two = ("ce", "a", {"loss": "ce"}), ("mae", "a", {"loss": "mae"})
    run(table_of(one), out=tmp_path, jobs=1)
    [damaged] = tmp_path.glob("runs/*")
    (damaged / name).write_text(DAMAGE[name])
    assert compare(table_of(one), out=tmp_path).entries[0].state == "1 failed"
    found = run(table_of(one, two), out=tmp_path, jobs=1)
    assert [entry.state for entry in found.entries] == ["1 failed", "finished"]
    [problem] = found.problems
    assert str(damaged / name) in problem
    assert "remove the folder to train it again" in problem
    shutil.rmtree(damaged)
    found = run(table_of(one, two), out=tmp_path, jobs=1)
    assert [entry.state for entry in found.entries] == ["finished", "finished"]


@pytest.mark.parametrize("content", ['{"final_test_accuracy": "high"}', '{"final_test_accuracy": [1]}'])
def test_invalid_result_is_reported(tmp_path, table_of, content):
    table = table_of(("ce", "a", {"loss": "ce"}))
    run(table, out=tmp_path, jobs=1)
    [result] = tmp_path.glob("runs/*/result.json")
    result.write_text(content)
    [problem] = compare(table, out=tmp_path).problems
    assert str(result.parent) in problem
    assert "final_test_accuracy" in problem or "cannot read the numbers" in problem


def test_resumed_run_equals_uninterrupted_run(tmp_path, table_of):
    table = table_of(("ce", "a", {"loss": "ce", "epochs": 3, "batch_size": 64}))
    [planned] = plan(table).values()
    config = with_folder(planned, tmp_path)
    with pytest.raises(Interrupted):
        fit(config, watcher=StopAt(30))
    assert compare(table, out=tmp_path).entries[0].state == "not run"
    run(table, out=tmp_path, jobs=1)
    fit(config.replace(out=str(tmp_path / "unbroken")))
    assert contents(tmp_path / planned.folder) == contents(tmp_path / "unbroken")


def test_folder_with_another_config_raises_an_error(tmp_path, table_of):
    table = table_of(("ce", "a", {"loss": "ce"}))
    [planned] = plan(table).values()
    fit(with_folder(planned, tmp_path).replace(loss="mae"))
    with pytest.raises(RunExistsError, match="is a run of another config"):
        run(table, out=tmp_path, jobs=1)


def test_best_run_gives_all_numbers_and_differences(tmp_path, table_of, tiny):
    clean, noisy = {**tiny, "loss": "ce"}, {**tiny, "loss": "ce", "noise": "symmetric(0.4)"}
    table = table_of(
        ("ce", "clean", Runs(clean, (0, 1), pick=BEST)),
        ("ce", "diff", Runs(noisy, (0, 1), pick=BEST, baseline=clean), "diff_vs_clean_accuracy_pp"),
        ("ce", "snr", Runs(noisy, (0, 1), pick=BEST), "snr"),
    )
    first, difference, snr = run(table, out=tmp_path, jobs=1).entries
    assert (difference.finished, difference.wanted, len(difference.baseline)) == (2, 2, 2)
    assert first.ours == max(final_accuracies(tmp_path, table, noise=None))
    best = max(final_accuracies(tmp_path, table, noise="symmetric(0.4)"))
    assert difference.ours == pytest.approx(best - first.ours)
    folders = [RunFolder(path.parent) for path in tmp_path.glob("runs/*/result.json")]
    noisy_runs = [one for one in folders if one.settings["noise"]]
    [chosen] = [one for one in noisy_runs if 100 * one.result["final_test_accuracy"] == best]
    assert snr.ours == chosen.result["snr"]
    assert len(result_times(tmp_path)) == 4


def test_relabelled_run_trains_on_predictions_of_the_first(tmp_path, table_of, tiny):
    settings = {**tiny, "loss": "ce", "noise": "symmetric(0.4)", "epochs": 3}
    metric = "test_accuracy_after_label_correction_retrain_%"
    table = table_of(("gr", "retrained", Runs(settings, (0,), relabel=True), metric))
    [entry] = run(table, out=tmp_path, jobs=1).entries
    assert entry.state == "finished"
    [second] = [RunFolder(path.parent) for path in tmp_path.glob("runs/*-relabelled/result.json")]
    [first] = [RunFolder(tmp_path / "runs" / second.name.removesuffix("-relabelled"))]
    predicted = first.outputs["train_probability"].argmax(1)
    assert (second.record.label == predicted).all()
    assert (second.record.clean_label == first.record.clean_label).all()
    assert entry.ours == 100 * second.result["final_test_accuracy"]
    before = result_times(tmp_path)
    run(table, out=tmp_path, jobs=1)
    assert result_times(tmp_path) == before


def test_relabelled_run_needs_predictions_of_the_first(tmp_path, table_of, tiny):
    metric = "test_accuracy_after_label_correction_retrain_%"
    table = table_of(("gr", "retrained", Runs({**tiny, "loss": "ce"}, (0,), relabel=True), metric))
    [first, _] = plan(table).values()
    folder = fit(with_folder(first, tmp_path)).folder
    (folder / "outputs.safetensors").write_bytes(b"x")
    found = run(table, out=tmp_path, jobs=1)
    assert found.entries[0].state == "1 failed"
    assert f"no predictions in {folder}: cannot read {folder}/outputs.safetensors" in found.problems[0]


def test_failure_of_the_first_run_is_reported_for_the_relabelled_run(tmp_path, table_of, tiny):
    broken = {**tiny, "loss": "ce", "lr": 1e30, "momentum": 0.0, "epochs": 3}
    metric = "test_accuracy_after_label_correction_retrain_%"
    table = table_of(("gr", "retrained", Runs(broken, (0,), relabel=True), metric))
    [problem] = run(table, out=tmp_path, jobs=1).problems
    assert "NonFiniteError" in problem


def test_state_counts_seeds_of_the_paper(tmp_path, table_of, tiny):
    table = table_of(("mae", "clean", Runs({**tiny, "loss": "mae"}, (123, 7, 8))))
    found = run(table.select(seeds=1), out=tmp_path, jobs=1)
    for entry in (found.entries[0], compare(table, out=tmp_path).entries[0]):
        assert (entry.state, entry.finished, entry.wanted) == ("1 of 3", 1, 3)
        [(folder, seed, _, problem)] = entry.runs
        assert (seed, problem) == (123, None)
        assert (tmp_path / "runs" / folder).is_dir()
    run(table.select(seeds=4), out=tmp_path, jobs=1)
    [entry] = compare(table, out=tmp_path).entries
    assert (entry.state, [one.seed for one in entry.runs]) == ("finished", [123, 7, 8, 124])


def test_table_without_runnable_cells_raises_an_error(tmp_path, table_of):
    nothing = table_of(("a", "x", Missing("no such data")), ("b", "x", Quoted("Somebody, 2018")))
    with pytest.raises(ValueError, match="no cell that can be run: no such data; quoted from Somebody, 2018"):
        run(nothing, out=tmp_path)
    assert [entry.state for entry in compare(nothing, out=tmp_path).entries] == ["not runnable", "quoted"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "rya"}, "unknown engine 'rya': choose 'local' or 'ray'"),
        ({"engine": "ray"}, r"pip install 'noiseproof\[ray\]'"),
        ({"device": "gpu"}, "device='gpu' cannot be used"),
        ({"jobs": 0}, "jobs=0 must be at least 1"),
    ],
)
def test_invalid_option_creates_no_folder(tmp_path, table_of, monkeypatch, options, words):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=words):
        run(table_of(("ce", "a", {"loss": "ce"})), out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


class CallBeforeFirstRun(ComparisonWatcher):
    """Watcher that calls ``action`` before the first run."""

    def __init__(self, action):
        self.action = action

    def begin(self, configs, kept):
        self.action()


def test_two_commands_share_a_folder(tmp_path, table_of):
    one = table_of(("ce", "a", {"loss": "ce"}))
    two = table_of(("mae", "a", {"loss": "mae"}), name="mine.table2")
    run(one, out=tmp_path, jobs=1, watcher=CallBeforeFirstRun(lambda: run(two, out=tmp_path, jobs=1)))
    for table in (one, two):
        assert [entry.state for entry in compare(table, out=tmp_path).entries] == ["finished"]


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_path_below_a_file_raises_an_error(tmp_path, table_of, place):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot write .*file.*; a part of the path is a file, choose another"):
        run(table_of(("ce", "a", {"loss": "ce"})), out=tmp_path / place)


def test_shortened_runs_are_marked(tmp_path, table_of):
    table = table_of(("ce", "a", {"loss": "ce", "epochs": 5}))
    found = run(table, out=tmp_path, jobs=1, changes=Changes(epochs=1))
    assert found.changes == "epochs=1"
    assert found.entries[0].finished == 1
    [path] = tmp_path.glob("runs/*/metrics.jsonl")
    assert path.read_text().count("\n") == 1


def test_failed_shortened_run_is_reported(tmp_path, table_of):
    table = table_of(("broken", "a", {"loss": "ce", "lr": 1e30, "momentum": 0.0, "epochs": 9}))
    found = run(table, out=tmp_path, jobs=1, changes=Changes(epochs=3, samples=200))
    assert (found.entries[0].state, found.changes) == ("1 failed", "epochs=3, samples=200")


def test_public_names_are_not_modules():
    import noiseproof.papers
    import noiseproof.papers.comparing
    import noiseproof.papers.running

    for name in noiseproof.papers.__all__:
        assert type(getattr(noiseproof.papers, name)).__name__ != "module", name
