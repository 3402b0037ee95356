"""Runs on tables and texts: features are fitted on training rows, stored and applied to new rows."""

import json

import numpy as np
import pandas as pd
import pytest

from noiseproof.data import LabelledData, load
from noiseproof.train import Config, Run, fit
from noiseproof.train.batches import split_positions
from noiseproof.train.task import make_task


def mails(count=60, seed=0):
    """Three classes that depend on a number, a category and words, with missing values."""
    random = np.random.default_rng(seed)
    kind = np.arange(count) % 3
    words = [["cash", "win", "offer"], ["lunch", "monday", "meeting"], ["oven", "salt", "butter"]]
    frame = pd.DataFrame(
        {
            "customer_id": random.choice(10**6, count, replace=False),
            "amount": [f"{value:.2f}".replace(".", ",") for value in 10 * kind + random.normal(size=count)],
            "city": np.array(["Oslo", "Rome", None], object)[kind],
            "sent": pd.date_range("2024-01-01", periods=count).astype(str),
            "text": [" ".join(random.choice(words[number], 5)) for number in kind],
        }
    )
    frame.loc[::7, "amount"] = None
    return frame, np.array(["spam", "ham", "food"])[kind]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    frame, label = mails()
    config = Config(
        model="mlp(hidden=16)",
        epochs=15,
        lr=0.1,
        validation=0.2,
        device="cpu",
        out=str(tmp_path_factory.mktemp("mails")),
    )
    with pytest.warns(UserWarning, match="not used as features: 'customer_id'"):
        return fit(config, data=LabelledData(frame, label, name="mails"))


def test_run_on_a_table_predicts_new_rows(run, tmp_path):
    frame, label = mails(30, seed=1)
    assert run.class_names == ("food", "ham", "spam")
    shuffled = frame[frame.columns[::-1]].assign(extra=1)
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    for data in (LabelledData(frame, label), f"csv(path={str(tmp_path / 'new.csv')!r})"):
        found = Run(run.folder).predict(data, split="train")
        predicted = np.array(run.class_names)[found.argmax(1)]
        assert (predicted == label).mean() > 0.9


def test_run_lists_unused_columns_and_stores_no_pickles(run):
    facts = json.loads((run.folder / "manifest.json").read_text())["data"]
    assert facts["name"] == "mails"
    assert list(facts["features"]["left_out"]) == ["customer_id"]
    assert facts["features"]["kind"] == "table"
    stored = {path.name for path in run.folder.iterdir()}
    assert {"features.json", "features.safetensors"} <= stored
    assert not any(name.endswith((".pkl", ".pickle", ".joblib")) for name in stored)


@pytest.mark.filterwarnings("ignore:not used as features")
def test_features_are_fitted_on_the_training_rows_only():
    frame, label = mails()
    config = Config(validation=0.3)
    data = LabelledData(frame, label)
    kept, aside = split_positions(data.index, 0.3, seed=config.seed)
    changed = frame.copy()
    changed.loc[aside.tolist(), ["amount", "city", "text"]] = [
        "999999",
        "Atlantis",
        "zebra zebra zebra zebra",
    ]
    tasks = [make_task(config, LabelledData(rows, label)) for rows in (frame, changed)]
    states = [json.dumps(task.features.state()[0]) for task in tasks]
    assert states[0] == states[1]
    assert "Atlantis" not in states[0]
    assert np.array_equal(tasks[0].train.inputs, tasks[1].train.inputs)
    assert len(kept) == len(tasks[0].train)


def test_run_on_numbers_predicts_rows_of_a_table(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(30, 2)), columns=["a", "b"]).assign(label=np.arange(30) % 2)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame[["b", "a"]].to_csv(tmp_path / "new.csv", index=False)
    spec = f"csv(path={str(tmp_path / 'rows.csv')!r})"
    data = load(spec).as_numbers()
    run = fit(Config(model="mlp(hidden=4)", epochs=1, device="cpu", out=str(tmp_path / "run")), data=data)
    assert run.features is None
    assert run.predict(spec.replace("rows.csv", "new.csv"), split="train").equal(run.predict(data))


def test_runs_on_data_in_memory_are_named_after_their_data(tmp_path, monkeypatch, blobs):
    monkeypatch.chdir(tmp_path)
    config = Config(model="mlp(hidden=4)", epochs=1, device="cpu")
    folders = [fit(config, data=data).folder for data in (blobs(), blobs(), blobs(seed=1))]
    assert all(folder.name.startswith("blobs-ce-seed0-") for folder in folders)
    assert folders[1].name == f"{folders[0].name}-2"
    assert len({folder.name for folder in folders}) == 3
    assert Run(folders[0]).config.data == "memory(name='blobs')"
    with pytest.raises(
        ValueError, match=r"^memory\(name='blobs'\) was passed in Python and cannot be loaded again"
    ):
        load(Run(folders[0]).config.data)


def test_run_on_a_list_of_strings(tmp_path):
    frame, label = mails()
    config = Config(model="mlp(hidden=16)", epochs=10, lr=0.1, device="cpu", out=str(tmp_path / "run"))
    run = fit(config, data=LabelledData(frame["text"].tolist(), label.tolist()))
    assert run.features.kind == "text"
    found = run.predict(
        LabelledData(["win cash now", "salt and butter", "", "日本語"], ["spam", "food", "ham", "ham"])
    )
    assert found[:2].argmax(1).tolist() == [2, 0]
    assert found.isfinite().all()
