"""RunFolder: read access to the files of a run."""

import json

import pytest

from noiseproof.dynamics import RunFolder


def test_unfinished_run_can_be_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"loss": "ce"}))
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n{"epo')
    run = RunFolder(tmp_path)
    assert run.settings == {"loss": "ce"}
    assert [line["epoch"] for line in run.metrics] == [1, 2]
    assert (run.finished, run.result, run.outputs) == (False, None, {})
    assert repr(run).endswith(", unfinished)")


def test_repr_of_a_finished_run_has_the_results(tmp_path):
    (tmp_path / "config.json").write_text('{"loss": "gce(q=0.7)", "method": null}')
    result = {"epochs": 3, "final_test_accuracy": 0.9, "train": {"corrupted": 0.625}}
    (tmp_path / "result.json").write_text(json.dumps(result))
    told = repr(RunFolder(tmp_path))
    assert told.endswith(
        "gce(q=0.7), 3 epochs, predicts 90.0% of the test labels and 62.5% of the given labels)"
    )
    (tmp_path / "result.json").write_text("{")
    assert repr(RunFolder(tmp_path)).endswith(", damaged)")


def test_before_the_first_epoch(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert RunFolder(tmp_path).metrics == []


def test_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not a run folder: it does not contain config.json"):
        RunFolder(tmp_path)


@pytest.mark.parametrize("content", ["[1]", "{", "\x00"])
def test_damaged_config_is_an_error(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"config\.json"):
        RunFolder(tmp_path).settings  # noqa: B018
